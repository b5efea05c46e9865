// The product in blocks of 32 of five bits.
#include "product.hpp"

using namespace diecast;

TEST_CASE("product: Q5_0") { testing::check_product<Format::q5_0, 96>(); }
TEST_CASE("product: Q5_1") { testing::check_product<Format::q5_1, 96>(); }
