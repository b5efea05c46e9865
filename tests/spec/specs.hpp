// Two specs that differ on every axis, for tests of the spec.
#pragma once

#include <diecast/spec/spec.hpp>

namespace diecast::test {

inline constexpr Spec rope_spec{
    .hidden = 576,
    .layers = 30,
    .vocab = 49152,
    .context = 8192,
    .attention = {.heads = 9, .kv_heads = 3, .head_dim = 64},
    .position = Rope{.theta = 100'000},
    .norm = RmsNorm{.epsilon = 1e-5},
    .mlp = GatedMlp{.width = 1536, .activation = Activation::silu},
    .head = TiedHead{},
};

inline constexpr Spec absolute_spec{
    .hidden = 46,
    .layers = 2,
    .vocab = 65,
    .context = 40,
    .attention = {.heads = 7, .kv_heads = 7, .head_dim = 5, .qkv_bias = true, .output_bias = true},
    .position = Absolute{.positions = 40},
    .norm = LayerNorm{.epsilon = 1e-6},
    .mlp = PlainMlp{.width = 101, .activation = Activation::gelu_tanh, .bias = true},
    .head = UntiedHead{.bias = true},
};

}  // namespace diecast::test
