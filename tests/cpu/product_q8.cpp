// The product in bytes, and six bits with groups of 16.
#include "product.hpp"

using namespace diecast;

TEST_CASE("product: Q8_0") { testing::check_product<Format::q8_0, 160>(); }
TEST_CASE("product: Q6_K") { testing::check_product<Format::q6_k, 512>(); }
