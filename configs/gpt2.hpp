// Written by ./cast from a config.json: what the model is.
#pragma once

#include <diecast/diecast.hpp>

namespace configs {

struct gpt2 {
  static constexpr char name[] = "gpt2";
  static constexpr diecast::Spec spec{
      .hidden = 768,
      .layers = 12,
      .vocab = 50257,
      .context = 1024,
      .attention = {.heads = 12, .kv_heads = 12, .head_dim = 64, .qkv_bias = true, .output_bias = true},
      .position = diecast::Absolute{.positions = 1024},
      .norm = diecast::LayerNorm{.epsilon = 1e-5},
      .mlp = diecast::PlainMlp{.width = 3072, .activation = diecast::Activation::gelu_tanh, .bias = true},
      .head = diecast::TiedHead{},
  };
  static constexpr diecast::Format formats[] = {diecast::Format::f32, diecast::Format::f16, diecast::Format::bf16};
};

}  // namespace configs
