// Written by ./cast from a model file: what the model is, and the identity of its file.
#pragma once

#include <diecast/diecast.hpp>

namespace configs {

struct gemma_3_270m {
  static constexpr char name[] = "gemma-3-270m";
  static constexpr char model_name[] = "Gemma 3 270m";
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
      .embedding_scale = 25.298221281347036,
  };
  static constexpr diecast::Format formats[] = {
      diecast::Format::f32, diecast::Format::q5_0, diecast::Format::q8_0, diecast::Format::q4_k, diecast::Format::q6_k};
  static constexpr diecast::CompiledTokenizer tokenizer{.family = diecast::TokenizerTables::Family::sentencepiece};
  static constexpr diecast::CompiledGeneration generation{};
  static constexpr int end_ids[] = {1};
  static constexpr diecast::CompiledIdentity identity{
      .weights = "a6eb1baa25ac3af884ca01d3f9bbf9175a9e2a0e7efca135bb90f8084ebee059",
      .tokenizer = "0d514a3d1b32859f5b4a822201d1f4f38bdd045c302d86978783741aa5dc4d51",
      .chat_template = "af5570f5a1810b7af78caf4bc70a660f0df51e42baf91d4de5b2328de0e83dfc",
      .generation = "4beba5e9bb868f0bde0b9f79d3c64f482d8fd5c320dc08565768ec0480a25593",
      .whole = "8bd12542c6955614febc73ef2421c2e878985a9a53e6edb82d5f033ad7534635",
  };
};

}  // namespace configs
