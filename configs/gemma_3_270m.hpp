// Gemma 3 270M (Google, 2025; Gemma terms of use): windows of 512 with a RoPE of their own, every sixth layer sees all; QK-norm, norms before
// and after, SentencePiece. A base model without a chat template.
#pragma once

#include <diecast/diecast.hpp>

namespace configs {

struct gemma_3_270m {
  static constexpr char name[] = "gemma-3-270m";
  static constexpr diecast::Spec spec{
      .hidden = 640,
      .layers = 18,
      .vocab = 262144,
      .context = 32768,
      .attention = {.heads = 4,
                    .kv_heads = 1,
                    .head_dim = 256,
                    .qk_norm = diecast::QkNorm::each_head,
                    .window = diecast::SlidingWindow{.length = 512, .full_every = 6, .rope = diecast::Rope{.theta = 10'000}}},
      .position = diecast::Rope{.theta = 1'000'000},
      .norm = diecast::RmsNorm{.epsilon = 1e-6},
      .mlp = diecast::GatedMlp{.width = 2048, .activation = diecast::Activation::gelu_tanh},
      .head = diecast::TiedHead{},
      .norm_placement = diecast::NormPlacement::before_and_after,
      .embedding_scale = 25.298221281347036,  // the square root of hidden
  };
  static constexpr diecast::Format formats[] = {diecast::Format::f32, diecast::Format::q5_0, diecast::Format::q8_0, diecast::Format::q4_k, diecast::Format::q6_k};
};

}  // namespace configs
