// The whole backend with weights in blocks of four bits, with embeddings in bytes: the reference's logits, but for the rounding of activations, and the same bits in any company.
#include "models.hpp"
#include "odd_models.hpp"

using namespace diecast;

TEST_CASE("a model in Q4_0, Q4_1 and Q8_0") {
  testing::check_model<testing::Blocks32, Format::q4_0, Format::q4_1, Format::q8_0>({Format::q8_0, Format::q4_1, Format::q4_0, Format::q4_1});
}
