// SmolLM2 135M Instruct (Hugging Face, 2024; Apache-2.0): llama architecture, 9 query and 3 KV heads, byte-level BPE.
#pragma once

#include <diecast/diecast.hpp>

namespace configs {

struct smollm2_135m_instruct {
  static constexpr char name[] = "smollm2-135m-instruct";
  static constexpr diecast::Spec spec{
      .hidden = 576,
      .layers = 30,
      .vocab = 49152,
      .context = 8192,
      .attention = {.heads = 9, .kv_heads = 3, .head_dim = 64},
      .position = diecast::Rope{.theta = 100'000},
      .norm = diecast::RmsNorm{.epsilon = 1e-5},
      .mlp = diecast::GatedMlp{.width = 1536, .activation = diecast::Activation::silu},
      .head = diecast::TiedHead{},
  };
  static constexpr diecast::Format formats[] = {diecast::Format::q4_1, diecast::Format::q8_0, diecast::Format::f32};
};

}  // namespace configs
