// Written by ./cast from a config.json: what the model is.
#pragma once

#include <diecast/diecast.hpp>

namespace configs {

struct qwen2_5_0_5b {
  static constexpr char name[] = "qwen2.5-0.5b";
  static constexpr diecast::Spec spec{
      .hidden = 896,
      .layers = 24,
      .vocab = 151936,
      .context = 32768,
      .attention = {.heads = 14, .kv_heads = 2, .head_dim = 64, .qkv_bias = true},
      .position = diecast::Rope{.theta = 1'000'000},
      .norm = diecast::RmsNorm{.epsilon = 1e-6},
      .mlp = diecast::GatedMlp{.width = 4864, .activation = diecast::Activation::silu},
      .head = diecast::TiedHead{},
  };
  static constexpr diecast::Format formats[] = {diecast::Format::f32, diecast::Format::f16, diecast::Format::bf16};
};

}  // namespace configs
