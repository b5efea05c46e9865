// Whole models on the backend emulated, against the reference. The configs differ on every axis that a spec has.
#pragma once

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include <diecast/backend/door.hpp>
#include <diecast/cuda/emulated.hpp>
#include <diecast/reference/reference.hpp>

#include "bit_identity.hpp"
#include "odd_specs.hpp"
#include "random_weights.hpp"

namespace diecast::testing {

template <int number>
struct OddConfig {
  static constexpr Spec spec = [] {
    Spec s = number == 1 || number == 3 || number >= 7 ? absolute_spec : rope_spec;
    if (number == 2) {  // Q/K/V bias, partial and scaled RoPE, a head of its own
      s.vocab = 77;
      s.attention = {.heads = 6, .kv_heads = 2, .head_dim = 80, .qkv_bias = true};
      s.position = Rope{.theta = 500'000, .rotary_dim = 32, .scaling = Llama3Scaling{8, 1, 4, 16}};
      s.head = UntiedHead{};
    }
    if (number == 3) {
      s.norm = LayerNorm{.epsilon = 1e-5, .bias = false};
      s.head = UntiedHead{.bias = true};
    }
    if (number == 4) {  // Gemma's parts
      s.layers = 3;
      s.attention = {.heads = 4,
                     .kv_heads = 2,
                     .head_dim = 14,
                     .qk_norm = QkNorm::each_head,
                     .scale = 0.2,
                     .soft_cap = 5.0,
                     .window = SlidingWindow{.length = 5, .full_every = 3, .rope = Rope{.theta = 100}}};
      s.mlp = GatedMlp{.width = 50, .activation = Activation::gelu_tanh};
      s.norm_placement = NormPlacement::before_and_after;
      s.embedding_scale = 6.78;
      s.logit_soft_cap = 3.0;
    }
    if (number == 5) {
      s.position = Rope{.theta = 10'000, .scaling = LinearScaling{4}};
      s.mlp = PlainMlp{.width = 30, .activation = Activation::relu};
      s.head = TiedHead{.bias = true};
    }
    if (number == 6) {  // OLMo 2's parts, YaRN, Granite's numbers
      s.attention = {.heads = 6, .kv_heads = 3, .head_dim = 12, .qk_norm = QkNorm::all_heads};
      s.position = Rope{.theta = 10'000, .scaling = YarnScaling{.factor = 4, .original_context = 16}};
      s.norm_placement = NormPlacement::after;
      s.residual_scale = 0.22;
      s.logit_divisor = 3;
    }
    if (number >= 7) {  // GPT-NeoX's parts
      s.attention = {.heads = 3, .kv_heads = 1, .head_dim = 18, .qkv_bias = true, .output_bias = true};
      s.position = Rope{.theta = 10'000, .rotary_dim = 6};
      s.residual = Residual::parallel;
    }
    if (number == 8) {
      s.residual = Residual::parallel_shared_norm;
      s.mlp = GatedMlp{.width = 50, .activation = Activation::gelu};
    }
    return s;
  }();
  static constexpr Format formats[] = {Format::f32};
};

// Beginnings of `ids`, of these lengths, in a batch with either padding: the bits of the last logits are those of `alone`, a row for each id.
inline int check_batches(const Backend& backend, const std::vector<int>& ids, const std::vector<int>& lengths, const LogitRows& alone) {
  const int batch = static_cast<int>(lengths.size()), width = *std::max_element(lengths.begin(), lengths.end());
  int cases = 0;
  for (const bool left : {false, true}) {
    std::vector<int> input_ids(static_cast<std::size_t>(batch * width), 0), mask(input_ids.size(), 0);
    for (int row = 0; row < batch; ++row)
      for (int i = 0; i < lengths[static_cast<std::size_t>(row)]; ++i) {
        const int column = left ? width - lengths[static_cast<std::size_t>(row)] + i : i;
        input_ids[static_cast<std::size_t>(row * width + column)] = ids[static_cast<std::size_t>(i)];
        mask[static_cast<std::size_t>(row * width + column)] = 1;
      }
    const auto context = backend.open(batch * 48);
    const BatchResult result = prefill(*context, {input_ids, mask, batch, width});
    for (int row = 0; row < batch; ++row) {
      INFO((left ? "left" : "right") << " padding, row " << row);
      CHECK(same_bits(copy(result.logits.row(row)), alone[static_cast<std::size_t>(lengths[static_cast<std::size_t>(row)] - 1)]));
      ++cases;
    }
  }
  return cases;
}

// The same ids, alone and in a batch with either padding, with logits as near as floats are; and the same bits whatever the company,
// the chunks of the prefill, and the number of processors.
template <class Config>
int check_model(std::uint64_t seed, int processors) {
  const Weights weights = random_weights(Config::spec, seed);
  const Reference<double> reference(Config::spec, weights);
  const Emulated<Config> emulated(weights, {.processors = processors, .rows = 5});
  const std::vector<int> ids = prompt_of(Config::spec, 21, static_cast<int>(seed));
  const LogitRows want = run_alone(reference, ids, 21), got = run_alone(emulated, ids, 21);
  int cases = 0;
  for (std::size_t row = 0; row < ids.size(); ++row) {
    double worst = 0, size = 0;
    for (std::size_t id = 0; id < want[row].size(); ++id) {
      const double off = std::abs(static_cast<double>(got[row][id]) - static_cast<double>(want[row][id]));
      if (!(off <= worst)) worst = off;
      size = std::max(size, std::abs(static_cast<double>(want[row][id])));
    }
    CHECK(worst <= 2e-5 * size + 1e-6);
    CHECK(std::max_element(got[row].begin(), got[row].end()) - got[row].begin() ==
          std::max_element(want[row].begin(), want[row].end()) - want[row].begin());
    ++cases;
  }
  for (const int chunk : {1, 4}) {
    CHECK((run_alone(emulated, ids, chunk) == got));
    ++cases;
  }
  const Emulated<Config> wider(weights, {.processors = processors + 3, .rows = 16});
  CHECK((run_alone(wider, ids, 7) == got));
  ++cases;

  return cases + check_batches(wider, ids, {5, 21, 12}, got);
}

}  // namespace diecast::testing
