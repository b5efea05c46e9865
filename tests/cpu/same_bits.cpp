// One model, all instruction sets: the logits' bits are the same on each, whatever the compiler's options.
#include <bit>
#include <cstdint>

#include <diecast/isa.hpp>

#include "models.hpp"

using namespace diecast;
using testing::prompt_of;
using testing::run_alone;
using testing::weights_in;
using Shape = testing::AnyShape<Format::f32, Format::q4_1, Format::q8_0>;

namespace {

// FNV-1a over the bits of all logits, in order.
std::uint64_t digest(const testing::LogitRows& rows) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const auto& row : rows)
    for (const float logit : row)
      for (int byte = 0; byte < 4; ++byte) hash = (hash ^ ((std::bit_cast<std::uint32_t>(logit) >> (8 * byte)) & 255U)) * 0x100000001b3U;
  return hash;
}

}  // namespace

// The digests are those of the first set that was tried, AVX-512: that others have them, too, is what is tested. (Right they are by the tests that hold
// the backend to the reference.)
TEST_CASE("every instruction set with a fused multiply-add gives the same bits") {
  constexpr Spec spec{.hidden = 96,
                      .layers = 2,
                      .vocab = 77,
                      .context = 64,
                      .attention = {.heads = 8, .kv_heads = 2, .head_dim = 20, .qk_norm = QkNorm::each_head, .soft_cap = 30.0},
                      .position = Rope{.theta = 10'000},
                      .norm = RmsNorm{.epsilon = 1e-5},
                      .mlp = GatedMlp{.width = 160, .activation = Activation::gelu_tanh},
                      .head = TiedHead{}};
  const Weights weights = weights_in(spec, {Format::q8_0, Format::q4_1, Format::q4_1, Format::q4_1}, 12);
  const std::vector<int> ids = prompt_of(spec, 45, 7);
  const auto of = [&](cpu::Precision precision) { return digest(run_alone(Shape(spec, weights, {.threads = 1, .cache = cpu::CacheType::f16, .precision = precision}), ids, 30)); };
  const std::uint64_t fast = of(cpu::Precision::fast), exact = of(cpu::Precision::exact);
  CAPTURE(isa);
  if (isa == "portable") return;  // multiplies and adds with two roundings
  CHECK(fast == 0x44b3d28cf262c0a5U);
  CHECK(exact == 0x3c5950e53a7bf49eU);
}
