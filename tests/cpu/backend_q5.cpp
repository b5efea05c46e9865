// The whole backend with weights in blocks of five bits: the reference's logits, but for the rounding of activations, and the same bits in any company.
#include "models.hpp"
#include "odd_models.hpp"

using namespace diecast;

TEST_CASE("a model in Q5_0 and Q5_1") {
  testing::check_model<testing::Blocks32, Format::q5_0, Format::q5_1>({Format::q5_1, Format::q5_0, Format::q5_0, Format::q5_1});
}
