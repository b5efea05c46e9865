// Written by ./cast from a model file: what the model is, and the identity of its file.
#pragma once

#include <diecast/diecast.hpp>

namespace configs {

struct smollm2_135m_instruct {
  static constexpr char name[] = "smollm2-135m-instruct";
  static constexpr char model_name[] = "Smollm2 135M 8k Lc100K Mix1 Ep2";
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
  static constexpr diecast::Format formats[] = {diecast::Format::f32, diecast::Format::q4_1, diecast::Format::q8_0};
  static constexpr diecast::CompiledTokenizer tokenizer{.family = diecast::TokenizerTables::Family::byte_level_bpe, .pre_tokenizer = "smollm"};
  // Its lines, each a literal. The compiler parses it.
  static constexpr char chat_template[] =
      "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\n"
      "You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
      "' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n"
      "' + message['content'] + '<|im_end|>' + '\n"
      "'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n"
      "' }}{% endif %}";
  static constexpr diecast::CompiledGeneration generation{};
  static constexpr int end_ids[] = {2};
  static constexpr diecast::CompiledIdentity identity{
      .weights = "fe987d183c3f2d04fba5a86678dcddd1907905f0ab86b193cdd5b7f0f7efaa00",
      .tokenizer = "9d5b735931d1976f80b1497a3e886b27e481a3927eb0e2133c206532a663d0fb",
      .chat_template = "dc0220dd9e3dfb840cdb4f1d52cfc9f5153d2865eef1214ca68516d0b0529238",
      .generation = "bb50cd7276c60819b494898f3b63ea5ee44eaacd43b007a98991339a93727db1",
      .whole = "5eebadd9b04cfd86ad7395e8749566e19cdbdbfc8678b2b05b8306ded5e129d3",
  };
};

}  // namespace configs
