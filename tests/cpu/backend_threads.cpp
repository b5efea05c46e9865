// A model on several threads, small enough for the thread sanitizer: short and long contexts, one row and many.
#include "models.hpp"

using namespace diecast;
using testing::prompt_of;
using testing::run_alone;
using Floats = testing::AnyShape<Format::f32>;

TEST_CASE("threads share a pass, and nothing else") {
  constexpr Spec spec{.hidden = 21,
                      .layers = 2,
                      .vocab = 41,
                      .context = 512,
                      .attention = {.heads = 7, .kv_heads = 1, .head_dim = 10},
                      .position = Rope{.theta = 10'000},
                      .norm = RmsNorm{.epsilon = 1e-5},
                      .mlp = GatedMlp{.width = 19, .activation = Activation::silu},
                      .head = TiedHead{}};
  const Weights weights = testing::random_weights(spec, 9);
  const std::vector<int> ids = prompt_of(spec, 262, 6);
  const testing::LogitRows right = run_alone(Floats(spec, weights, {1, cpu::CacheType::f16}), ids, 262);
  for (const int threads : {2, 3}) {
    const Floats backend(spec, weights, {threads, cpu::CacheType::f16});
    const auto context = backend.open(280);
    const int sequence = context->table().add();
    std::size_t next = 0;
    for (const int count : {200, 51, 3, 1, 1, 2, 1, 3}) {  // the last of them share chunks
      std::vector<Row> rows;
      for (int i = 0; i < count; ++i) rows.push_back({ids[next + static_cast<std::size_t>(i)], static_cast<int>(next) + i, sequence, true});
      const Logits logits = context->forward(rows);
      for (int i = 0; i < count; ++i) CHECK(testing::same_bits(testing::copy(logits.row(i)), right[next + static_cast<std::size_t>(i)]));
      next += static_cast<std::size_t>(count);
    }
    REQUIRE(next == ids.size());
  }
}
