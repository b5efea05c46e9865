// Written by ./cast from a model file: what the model is, and the identity of its file.
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
  static constexpr diecast::CompiledTokenizer tokenizer{.family = diecast::TokenizerTables::Family::byte_level_bpe, .pre_tokenizer = "gpt-2"};
  static constexpr diecast::CompiledGeneration generation{};
  static constexpr int end_ids[] = {0};
  static constexpr diecast::CompiledIdentity identity{
      .weights = "50bef7e43b0823621313223d422bc01988545a883a96a3b73634b6cbfbf27833",
      .tokenizer = "64bca8b8289193bde5101409a2b0f96555d17ecee2a7943f3aec6bd1a4dbe448",
      .chat_template = "af5570f5a1810b7af78caf4bc70a660f0df51e42baf91d4de5b2328de0e83dfc",
      .generation = "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b",
      .whole = "4e349f87f9eb7578141a1548374c1fcb29c5806dd6ca35432771159aa4a1e725",
  };
};

}  // namespace configs
