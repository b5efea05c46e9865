// Small specs with odd shapes, differing from one another on every axis: for tests that run one set of checks over many models.
#pragma once

#include <utility>
#include <vector>

#include <diecast/spec/spec.hpp>

namespace diecast::testing {

// RoPE, 7 query heads to one KV head, head size apart from hidden / heads, vocabulary 4k + 1.
inline constexpr Spec rope_spec{
    .hidden = 46,
    .layers = 2,
    .vocab = 65,
    .context = 64,
    .attention = {.heads = 7, .kv_heads = 1, .head_dim = 10},
    .position = Rope{.theta = 10'000},
    .norm = RmsNorm{.epsilon = 1e-5},
    .mlp = GatedMlp{.width = 101, .activation = Activation::silu},
    .head = TiedHead{},
};

inline constexpr Spec absolute_spec{
    .hidden = 33,
    .layers = 3,
    .vocab = 61,
    .context = 40,
    .attention = {.heads = 3, .kv_heads = 3, .head_dim = 11, .qkv_bias = true, .output_bias = true},
    .position = Absolute{.positions = 40},
    .norm = LayerNorm{.epsilon = 1e-5},
    .mlp = PlainMlp{.width = 77, .activation = Activation::gelu_tanh, .bias = true},
    .head = TiedHead{},
};

inline std::vector<std::pair<const char*, Spec>> odd_specs() {
  const Spec &rope = rope_spec, &absolute = absolute_spec;
  Spec untied = rope;  // Q/K/V bias, partial and scaled RoPE, a head of its own
  untied.vocab = 77;
  untied.attention = {.heads = 6, .kv_heads = 2, .head_dim = 80, .qkv_bias = true};
  untied.position = Rope{.theta = 500'000, .rotary_dim = 32, .scaling = Llama3Scaling{8, 1, 4, 16}};
  untied.head = UntiedHead{};
  Spec biased_head = absolute;
  biased_head.norm = LayerNorm{.epsilon = 1e-5, .bias = false};
  biased_head.head = UntiedHead{.bias = true};
  Spec windowed = rope;  // Gemma's parts
  windowed.layers = 3;
  windowed.attention = {.heads = 4, .kv_heads = 2, .head_dim = 14, .qk_norm = QkNorm::each_head, .scale = 0.2, .soft_cap = 5.0,
                        .window = SlidingWindow{.length = 5, .full_every = 3, .rope = Rope{.theta = 100}}};
  windowed.mlp = GatedMlp{.width = 50, .activation = Activation::gelu_tanh};
  windowed.norm_placement = NormPlacement::before_and_after;
  windowed.embedding_scale = 6.78;
  windowed.logit_soft_cap = 3.0;
  Spec relu = rope;
  relu.position = Rope{.theta = 10'000, .scaling = LinearScaling{4}};
  relu.mlp = PlainMlp{.width = 30, .activation = Activation::relu};
  relu.head = TiedHead{.bias = true};
  Spec after = rope;  // OLMo 2's parts, YaRN, Granite's numbers
  after.attention = {.heads = 6, .kv_heads = 3, .head_dim = 12, .qk_norm = QkNorm::all_heads};
  after.position = Rope{.theta = 10'000, .scaling = YarnScaling{.factor = 4, .original_context = 16}};
  after.norm_placement = NormPlacement::after;
  after.residual_scale = 0.22;
  after.logit_divisor = 3;
  Spec parallel = absolute;  // GPT-NeoX's parts
  parallel.attention = {.heads = 3, .kv_heads = 1, .head_dim = 18, .qkv_bias = true, .output_bias = true};
  parallel.position = Rope{.theta = 10'000, .rotary_dim = 6};
  parallel.residual = Residual::parallel;
  Spec shared = parallel;
  shared.residual = Residual::parallel_shared_norm;
  shared.mlp = GatedMlp{.width = 50, .activation = Activation::gelu};
  return {{"rope", rope}, {"absolute", absolute}, {"untied", untied}, {"biased head", biased_head}, {"windowed", windowed}, {"relu", relu},
          {"after", after}, {"parallel", parallel}, {"shared norm", shared}};
}

}  // namespace diecast::testing
