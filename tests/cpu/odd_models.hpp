// Shapes for quantised weights: widths are multiples of the blocks, everything else is odd.
#pragma once

#include <diecast/spec/spec.hpp>

namespace diecast::testing {

struct Blocks32 {  // no width is a multiple of 256; seven query heads a KV head, head size 80, vocabulary 4k + 1
  static constexpr Spec spec{.hidden = 96,
                             .layers = 2,
                             .vocab = 65,
                             .context = 128,
                             .attention = {.heads = 14, .kv_heads = 2, .head_dim = 80, .qkv_bias = true},
                             .position = Rope{.theta = 10'000},
                             .norm = RmsNorm{.epsilon = 1e-5},
                             .mlp = GatedMlp{.width = 160, .activation = Activation::silu},
                             .head = TiedHead{}};
};
struct Blocks256 {  // widths are multiples of 256; head size 256 and a head of its own
  static constexpr Spec spec{.hidden = 256,
                             .layers = 2,
                             .vocab = 49,
                             .context = 128,
                             .attention = {.heads = 7, .kv_heads = 1, .head_dim = 256, .qk_norm = QkNorm::each_head},
                             .position = Rope{.theta = 10'000},
                             .norm = RmsNorm{.epsilon = 1e-5},
                             .mlp = GatedMlp{.width = 512, .activation = Activation::gelu_tanh},
                             .head = UntiedHead{}};
};

}  // namespace diecast::testing
