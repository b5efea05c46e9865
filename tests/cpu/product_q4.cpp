// The product in blocks of 32 of four bits, with a zero point and with a minimum.
#include "product.hpp"

using namespace diecast;

TEST_CASE("product: Q4_0") { testing::check_product<Format::q4_0, 96>(); }
TEST_CASE("product: Q4_1") { testing::check_product<Format::q4_1, 96>(); }
