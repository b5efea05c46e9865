// The product in blocks of 256 with two levels of scales.
#include "product.hpp"

using namespace diecast;

TEST_CASE("product: Q4_K") { testing::check_product<Format::q4_k, 256>(); }
TEST_CASE("product: Q5_K") { testing::check_product<Format::q5_k, 512>(); }
