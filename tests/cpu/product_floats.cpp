// The product in three float formats; 46 columns are no multiple of 4 or 16.
#include "product.hpp"

using namespace diecast;

TEST_CASE("product: F32") { testing::check_product<Format::f32, 80>(); }
TEST_CASE("product: F16") { testing::check_product<Format::f16, 46>(); }
TEST_CASE("product: BF16") { testing::check_product<Format::bf16, 46>(); }
