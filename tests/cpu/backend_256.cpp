// The whole backend with weights in blocks of 256: the reference's logits, but for the rounding of activations, and the same bits in any company.
#include "models.hpp"
#include "odd_models.hpp"

using namespace diecast;

TEST_CASE("a model in Q4_K and Q6_K") {
  testing::check_model<testing::Blocks256, Format::q4_k, Format::q6_k>({Format::q6_k, Format::q4_k, Format::q4_k, Format::q6_k});
}
