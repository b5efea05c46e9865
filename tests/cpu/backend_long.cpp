// Contexts beyond a chunk of 256 positions, where threads share the chunks of a row's positions while others merge them as they go; and more rows
// than go through the layers together. The logits are the reference's, and the same bits on every way.
#include "models.hpp"

using namespace diecast;
using testing::LogitRows;
using testing::prompt_of;
using testing::run_alone;
using Floats = testing::AnyShape<Format::f32>;

namespace {

Spec long_spec(int heads, int kv_heads, int head_dim) {
  return {.hidden = 21,
          .layers = 2,
          .vocab = 41,
          .context = 1024,
          .attention = {.heads = heads, .kv_heads = kv_heads, .head_dim = head_dim},
          .position = Rope{.theta = 10'000},
          .norm = RmsNorm{.epsilon = 1e-5},
          .mlp = GatedMlp{.width = 19, .activation = Activation::silu},
          .head = TiedHead{}};
}

// The logits of these positions, with all before `prefilled` in chunks of this size and the others one by one or in threes.
LogitRows tail_of(const Backend& backend, const std::vector<int>& ids, int prefilled, int chunk, int step) {
  const auto context = backend.open(static_cast<int>(ids.size()) + 64);
  (void)context->table().append(context->table().add());  // the first block is another's
  const int sequence = context->table().add();
  LogitRows all;
  const auto run = [&](int begin, int end, bool ask) {
    std::vector<Row> rows;
    for (int i = begin; i < end; ++i) rows.push_back({ids[static_cast<std::size_t>(i)], i, sequence, ask});
    const Logits logits = context->forward(rows);
    if (!ask) return;
    for (int i = 0; i < end - begin; ++i) all.push_back(testing::copy(logits.row(i)));
  };
  for (int begin = 0; begin < prefilled; begin += chunk) run(begin, std::min(begin + chunk, prefilled), false);
  const int size = static_cast<int>(ids.size());
  for (int begin = prefilled; begin < size; begin += step) run(begin, std::min(begin + step, size), true);
  return all;
}

void check_long(const Spec& spec) {
  const Weights weights = testing::random_weights(spec, 9);
  const std::vector<int> ids = prompt_of(spec, 530, 6);
  const int prefilled = 505;  // what follows crosses a border of chunks
  const Floats one(spec, weights, {1, cpu::CacheType::f16});
  const LogitRows right = tail_of(one, ids, prefilled, 505, 25);
  for (const auto& row : right)
    for (const float logit : row) REQUIRE(std::isfinite(logit));
  for (const int threads : {1, 2, 3, 4})
    for (const auto& [chunk, step] : {std::pair(505, 1), std::pair(300, 3), std::pair(64, 4), std::pair(101, 2), std::pair(256, 25)}) {
      const Floats backend(spec, weights, {threads, cpu::CacheType::f16});
      CAPTURE(threads, chunk, step);
      REQUIRE((tail_of(backend, ids, prefilled, chunk, step) == right));
    }
}

}  // namespace

TEST_CASE("beyond 256 positions: split among threads or merged in turn, the same bits") {
  check_long(long_spec(7, 1, 10));
  check_long(long_spec(3, 3, 16));
  Spec windowed = long_spec(4, 2, 14);
  windowed.attention.window = SlidingWindow{.length = 270, .full_every = 2};
  check_long(windowed);
  windowed.attention.window->length = 20;
  check_long(windowed);
}

TEST_CASE("beyond 256 positions and rows, the logits are the reference's") {
  for (const std::optional<int> window : {std::optional<int>(), std::optional<int>(260)}) {
    Spec spec = long_spec(4, 2, 14);
    if (window) spec.attention.window = SlidingWindow{.length = *window, .full_every = 2};
    const Weights weights = testing::random_weights(spec, 10);
    const std::vector<int> ids = prompt_of(spec, 600, 8);
    const LogitRows right = run_alone(Reference<double>(spec, weights), ids, 600);
    const LogitRows here = run_alone(Floats(spec, weights, {2, cpu::CacheType::f32}), ids, 600);  // 600 rows ask for logits: three slices
    const testing::Distance d = testing::distance(here, right);
    CAPTURE(d.greatest);
    CHECK(d.greatest <= 4e-6);  // twice what an odd spec of two layers may have (backend_floats.cpp)
    CHECK((run_alone(Floats(spec, weights, {3, cpu::CacheType::f32}), ids, 130) == here));
  }
}

TEST_CASE("a batch of long and short sequences, decoded together, is as each alone") {
  const Spec spec = long_spec(7, 1, 10);
  const Weights weights = testing::random_weights(spec, 11);
  const std::vector<int> lengths{300, 5, 520, 256};
  constexpr int steps = 3;
  const Floats alone(spec, weights, {1, cpu::CacheType::f16});
  std::vector<LogitRows> right;
  for (std::size_t s = 0; s < lengths.size(); ++s) right.push_back(tail_of(alone, prompt_of(spec, lengths[s] + steps, static_cast<int>(s)), lengths[s], 200, 1));
  for (const int threads : {1, 2, 4}) {
    const Floats backend(spec, weights, {threads, cpu::CacheType::f16});
    const auto context = backend.open(1400);
    std::vector<int> sequences;
    std::vector<std::vector<int>> prompts;
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      sequences.push_back(context->table().add());
      prompts.push_back(prompt_of(spec, lengths[s] + steps, static_cast<int>(s)));
      prompts.back().resize(static_cast<std::size_t>(lengths[s]));
    }
    context->forward(pack(context->table(), sequences, prompts));
    for (int step = 0; step < steps; ++step) {
      std::vector<Row> rows;
      for (std::size_t s = 0; s < lengths.size(); ++s)
        rows.push_back({prompt_of(spec, lengths[s] + steps, static_cast<int>(s))[static_cast<std::size_t>(lengths[s] + step)], lengths[s] + step, sequences[s], true});
      const Logits logits = context->forward(rows);
      for (std::size_t s = 0; s < lengths.size(); ++s) {
        CAPTURE(threads, step, s);
        CHECK(testing::same_bits(testing::copy(logits.row(static_cast<int>(s))), right[s][static_cast<std::size_t>(step)]));
      }
    }
  }
}
