// The whole backend with weights in blocks of 32: the reference's logits, but for the rounding of activations, and the same bits in any company.
#include "models.hpp"
#include "odd_models.hpp"

using namespace diecast;

TEST_CASE("a model in Q4_1, Q5_0 and Q8_0, no width of which is a multiple of 256") {
  testing::check_model<testing::Blocks32, Format::q4_1, Format::q5_0, Format::q8_0>({Format::q8_0, Format::q5_0, Format::q4_1, Format::q8_0});
}
