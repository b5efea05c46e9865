// Writes the binary seeds: whole GGUF models of each family, a container with every type, safetensors of the tiny configs.
// make_seeds FOLDER, FOLDER being tests/fuzz/corpus. The seeds are committed; run it again when the builders change.
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <diecast/cpu/engine_file.hpp>
#include <diecast/files/format.hpp>
#include <diecast/tokens/make_tokenizer.hpp>

#include "files/gguf_builder.hpp"
#include "files/hf_support.hpp"
#include "random_weights.hpp"

using namespace diecast;
using namespace diecast_test;

namespace {

// One layer is enough for a fuzzer, and half the bytes to change.
GgufBuilder one_layer(GgufBuilder gguf, const std::string& architecture) {
  gguf.u32(architecture + ".block_count", 1);
  std::erase_if(gguf.tensors, [](const GgufBuilder::Entry& entry) { return entry.name.starts_with("blk.1."); });
  return gguf;
}

// Every type of value, and one block row of every format.
GgufBuilder every_type() {
  GgufBuilder gguf;
  gguf.raw("u8", 0, std::uint8_t{1}).raw("i8", 1, std::int8_t{-1}).raw("u16", 2, std::uint16_t{2}).raw("i16", 3, std::int16_t{-2});
  gguf.raw("i32", 5, std::int32_t{-3}).raw("u64", 10, std::uint64_t{4}).raw("i64", 11, std::int64_t{-4}).raw("f64", 12, 0.5);
  gguf.u32("general.alignment", 32).f32("f32", 1.5F).flag("bool", true).text("text", "words");
  gguf.strings("strings", {"a", "", "bc"}).ints("ints", {1, 2}).floats("floats", {0.5F});
  Bytes nested;
  append(nested, std::uint32_t{9});
  append(nested, std::uint64_t{1});
  append(nested, std::uint32_t{5});
  append(nested, std::uint64_t{1});
  append(nested, std::int32_t{7});
  gguf.set("nested", 9, nested);
  for (const Format format : {Format::f32, Format::f16, Format::bf16, Format::q4_0, Format::q4_1, Format::q5_0, Format::q5_1, Format::q8_0, Format::q4_k,
                              Format::q5_k, Format::q6_k}) {
    const FormatLayout one = layout(format);
    Bytes data(static_cast<std::size_t>(one.bytes));
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 37 + 11);
    gguf.tensor(std::string(one.name), format, {static_cast<std::uint64_t>(one.block), 1}, data);
  }
  return gguf;
}

// What is printable in ASCII, so that the byte-level BPE is accepted, and some merges.
GgufBuilder vocabulary_only() {
  GgufBuilder gguf;
  add_tiny_vocabulary(gguf);
  std::vector<std::string> pieces;
  for (char c = '!'; c <= '~'; ++c) pieces.emplace_back(1, c);
  pieces.insert(pieces.end(), {"\xc4\xa0", "ab", "cd", "abcd", "<|end|>"});
  std::vector<std::int32_t> kinds(pieces.size(), 1);
  kinds.back() = 3;
  gguf.text("general.architecture", "llama").strings("tokenizer.ggml.tokens", pieces).ints("tokenizer.ggml.token_type", kinds);
  gguf.flag("tokenizer.ggml.add_bos_token", true).ints("tokenizer.ggml.eos_token_ids", {97, 98});
  gguf.text("tokenizer.chat_template", "{% for m in messages %}{{ m.content }}{% endfor %}");
  return gguf;
}

GgufBuilder sentencepiece() {
  GgufBuilder gguf = one_layer(tiny_gemma("gemma3"), "gemma3");
  gguf.text("tokenizer.ggml.model", "llama").floats("tokenizer.ggml.scores", std::vector<float>(16, -1.0F)).remove_key("tokenizer.ggml.merges");
  gguf.flag("tokenizer.ggml.add_space_prefix", false);
  return gguf;
}

using testing::Stored;
Stored zeros(const std::string& name, const std::vector<std::uint64_t>& shape, const std::string& dtype = "F16") {
  std::size_t count = dtype == "F32" ? 4 : 2;
  for (const std::uint64_t extent : shape) count *= static_cast<std::size_t>(extent);
  return {name, dtype, shape, std::string(count, '\x3c')};
}

std::vector<Stored> llama(bool gemma) {
  const std::string in = "model.layers.0.";
  std::vector<Stored> all{zeros("model.embed_tokens.weight", {3, 4}),       zeros("model.norm.weight", {4}),
                          zeros(in + "input_layernorm.weight", {4}),        zeros(in + "post_attention_layernorm.weight", {4}),
                          zeros(in + "self_attn.q_proj.weight", {4, 4}),    zeros(in + "self_attn.k_proj.weight", {2, 4}),
                          zeros(in + "self_attn.v_proj.weight", {2, 4}),    zeros(in + "self_attn.o_proj.weight", {4, 4}),
                          zeros(in + "mlp.gate_proj.weight", {5, 4}, "BF16"), zeros(in + "mlp.up_proj.weight", {5, 4}, "F32"),
                          zeros(in + "mlp.down_proj.weight", {4, 5})};
  if (gemma) {
    for (const std::string name : {"pre_feedforward_layernorm", "post_feedforward_layernorm"}) all.push_back(zeros(in + name + ".weight", {4}));
    for (const std::string name : {"self_attn.q_norm", "self_attn.k_norm"}) all.push_back(zeros(in + name + ".weight", {2}));
  }
  return all;
}

std::vector<Stored> gpt2() {
  std::vector<Stored> all{zeros("wte.weight", {3, 4}), zeros("wpe.weight", {6, 4}), zeros("ln_f.weight", {4}), zeros("ln_f.bias", {4})};
  const auto both = [&](const std::string& name, const std::vector<std::uint64_t>& shape) {
    all.push_back(zeros("h.0." + name + ".weight", shape));
    all.push_back(zeros("h.0." + name + ".bias", {shape.back()}));
  };
  both("ln_1", {4});
  both("attn.c_attn", {4, 12});
  both("attn.c_proj", {4, 4});
  both("ln_2", {4});
  both("mlp.c_fc", {4, 5});
  both("mlp.c_proj", {5, 4});
  return all;
}

// A packed model: each kind of form among its matrices.
void engine_file(const std::string& path, const Spec& spec, Format format) {
  Model model;
  model.name = "tiny";
  model.architecture = "llama";
  model.path = path;
  model.spec = spec;
  model.weights = testing::random_weights(spec, 1);
  Tensor& up = model.weights.layers[0].up.weight;
  if (format != Format::f32 && up.cols % layout(format).block == 0) {
    const auto bytes = std::make_shared<std::vector<std::byte>>(row_bytes(format, up.cols) * static_cast<std::size_t>(up.rows), std::byte{0x35});
    up = {up.name, format, up.rows, up.cols, *bytes, bytes};
  }
  for (int byte = 0x20; byte < 0x20 + (std::min)(spec.vocab, 95); ++byte) model.tokenizer.pieces.push_back(std::string(1, static_cast<char>(byte)));
  if (spec.vocab > 95) {  // all letters: a tokenizer that works, prepared
    model.tokenizer.pieces.insert(model.tokenizer.pieces.end(), {"th", "the"});
    model.tokenizer.merges = {"t h", "th e"};
  }
  model.tokenizer.pre_tokenizer = "gpt-2";
  if (spec.vocab > 95) model.tokenizer = prepared(model.tokenizer);
  model.chat_template = "{{ messages }}";
  cpu::write_engine_file(path, model, {"w", "t", "c", "g", "a"}, cpu::pack(spec, model.weights, 1));
}

void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc).write(text.data(), static_cast<std::streamsize>(text.size()));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::string folder = arguments[1];
  // With divisors of RoPE frequencies and an untied head.
  one_layer(tiny_llama(), "llama").tensor("rope_freqs.weight", {3}, {1.0F, 1.0F, 8.0F}).some_tensor("output.weight", {12, 16}).write(folder + "/gguf/llama");
  one_layer(tiny_qwen2(), "qwen2").write(folder + "/gguf/qwen2");
  one_layer(tiny_gpt2(), "gpt2").write(folder + "/gguf/gpt2");
  one_layer(tiny_gemma("gemma2"), "gemma2").write(folder + "/gguf/gemma2");
  sentencepiece().write(folder + "/gguf/gemma3-sentencepiece");
  every_type().write(folder + "/gguf/every-type");
  vocabulary_only().write(folder + "/gguf/vocabulary");
  write(folder + "/safetensors/llama", testing::safetensors_text(llama(false)));
  write(folder + "/safetensors/gemma3", testing::safetensors_text(llama(true)));
  write(folder + "/safetensors/gpt2", testing::safetensors_text(gpt2()));
  write(folder + "/safetensors/odd",
        testing::safetensors_raw(R"({"__metadata__": {"format": "pt", "a\nb": ""}, "a": {"dtype": "F4", "shape": [3, 2], "data_offsets": [0, 3]},
  "b": {"dtype": "I64", "shape": [0, 9223372036854775808], "data_offsets": [3, 3]}, "s": {"dtype": "U8", "shape": [], "data_offsets": [3, 4]}}   )",
                                 "1234"));
  const Spec rope{.hidden = 32, .layers = 1, .vocab = 9, .context = 8, .attention = {.heads = 2, .kv_heads = 1, .head_dim = 4}, .position = Rope{.theta = 10},
                        .norm = RmsNorm{.epsilon = 1e-5}, .mlp = GatedMlp{.width = 5, .activation = Activation::silu}, .head = TiedHead{}};
  Spec absolute = rope;
  absolute.hidden = 6;
  absolute.position = Absolute{.positions = 8};
  absolute.norm = LayerNorm{.epsilon = 1e-5};
  absolute.mlp = PlainMlp{.width = 5, .activation = Activation::gelu, .bias = true};
  absolute.head = UntiedHead{.bias = true};
  engine_file(folder + "/engine_file/q5", rope, Format::q5_0);
  engine_file(folder + "/engine_file/floats", absolute, Format::f32);
  Spec letters = absolute;
  letters.vocab = 100;
  engine_file(folder + "/engine_file/prepared", letters, Format::f32);
}
