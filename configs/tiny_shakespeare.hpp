// tiny-shakespeare (ours, 2026; Apache-2.0): a GPT-2 of 2.2 million weights, trained on Shakespeare's plays. A base model without a chat template.
#pragma once

#include <diecast/diecast.hpp>

namespace configs {

struct tiny_shakespeare {
  static constexpr char name[] = "tiny-shakespeare";
  static constexpr diecast::Spec spec{
      .hidden = 160,
      .layers = 6,
      .vocab = 2048,
      .context = 256,
      .attention = {.heads = 5, .kv_heads = 5, .head_dim = 32, .qkv_bias = true, .output_bias = true},
      .position = diecast::Absolute{.positions = 256},
      .norm = diecast::LayerNorm{.epsilon = 1e-5},
      .mlp = diecast::PlainMlp{.width = 640, .activation = diecast::Activation::gelu_tanh, .bias = true},
      .head = diecast::TiedHead{},
  };
  static constexpr diecast::Format formats[] = {diecast::Format::f16};
};

}  // namespace configs
