// Writes small GGUF files in memory, right or wrong on purpose, and tiny whole models to begin from.
// Source: the GGUF format text; written without looking at our reader, which it tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <diecast/files/format.hpp>
#include <diecast/files/gguf.hpp>

namespace diecast_test {

using Bytes = std::vector<std::byte>;

template <typename T>
void append(Bytes& bytes, T value) {
  const auto* from = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), from, from + sizeof(T));
}
inline void append_text(Bytes& bytes, std::string_view text) {
  append(bytes, static_cast<std::uint64_t>(text.size()));
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
}

// The numbers of ggml's tensor types.
inline std::uint32_t type_number(diecast::Format format) {
  using diecast::Format;
  switch (format) {
    case Format::f32: return 0;
    case Format::f16: return 1;
    case Format::bf16: return 30;
    case Format::q4_0: return 2;
    case Format::q4_1: return 3;
    case Format::q5_0: return 6;
    case Format::q5_1: return 7;
    case Format::q8_0: return 8;
    case Format::q4_k: return 12;
    case Format::q5_k: return 13;
    case Format::q6_k: return 14;
  }
  return 0;
}

class GgufBuilder {
 public:
  struct Key {
    std::string name;
    std::uint32_t type;
    Bytes value;
  };
  struct Entry {
    std::string name;
    std::vector<std::uint64_t> dims;  // contiguous first
    std::uint32_t type;
    Bytes data;
    std::uint64_t offset = automatic;  // automatic: after the tensor before
  };
  static constexpr std::uint64_t automatic = ~std::uint64_t{0};

  // Open, so that a test can spoil them.
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;  // used for padding; the key is the test's affair
  bool pad_the_end = true;
  std::vector<Key> keys;
  std::vector<Entry> tensors;

  template <typename T>
  GgufBuilder& raw(const std::string& name, std::uint32_t type, T value) {
    Bytes bytes;
    append(bytes, value);
    return set(name, type, bytes);
  }
  GgufBuilder& u32(const std::string& name, std::uint32_t value) { return raw(name, 4, value); }
  GgufBuilder& f32(const std::string& name, float value) { return raw(name, 6, value); }
  GgufBuilder& flag(const std::string& name, bool value) { return raw(name, 7, static_cast<std::uint8_t>(value)); }
  GgufBuilder& text(const std::string& name, std::string_view value) {
    Bytes bytes;
    append_text(bytes, value);
    return set(name, 8, bytes);
  }
  GgufBuilder& strings(const std::string& name, const std::vector<std::string>& values) {
    Bytes bytes;
    append(bytes, std::uint32_t{8});
    append(bytes, static_cast<std::uint64_t>(values.size()));
    for (const auto& value : values) append_text(bytes, value);
    return set(name, 9, bytes);
  }
  template <typename T>
  GgufBuilder& array(const std::string& name, std::uint32_t element, const std::vector<T>& values) {
    Bytes bytes;
    append(bytes, element);
    append(bytes, static_cast<std::uint64_t>(values.size()));
    for (const T value : values) append(bytes, value);
    return set(name, 9, bytes);
  }
  GgufBuilder& ints(const std::string& name, const std::vector<std::int32_t>& values) { return array(name, 5, values); }
  GgufBuilder& floats(const std::string& name, const std::vector<float>& values) { return array(name, 6, values); }

  // Replaces the key, or adds it.
  GgufBuilder& set(const std::string& name, std::uint32_t type, Bytes value) {
    for (Key& key : keys) {
      if (key.name == name) {
        key = {name, type, std::move(value)};
        return *this;
      }
    }
    keys.push_back({name, type, std::move(value)});
    return *this;
  }
  GgufBuilder& remove_key(const std::string& name) {
    std::erase_if(keys, [&](const Key& key) { return key.name == name; });
    return *this;
  }

  // F32; replaces the tensor, or adds it.
  GgufBuilder& tensor(const std::string& name, const std::vector<std::uint64_t>& dims, const std::vector<float>& values) {
    Bytes data;
    for (const float value : values) append(data, value);
    return tensor(name, diecast::Format::f32, dims, data);
  }
  GgufBuilder& tensor(const std::string& name, diecast::Format format, const std::vector<std::uint64_t>& dims, Bytes data) {
    const Entry entry{name, dims, type_number(format), std::move(data)};
    for (Entry& old : tensors) {
      if (old.name == name) {
        old = entry;
        return *this;
      }
    }
    tensors.push_back(entry);
    return *this;
  }
  // F32 with numbers of its own: small, different for each tensor and place, the same in every run.
  GgufBuilder& some_tensor(const std::string& name, const std::vector<std::uint64_t>& dims) {
    std::uint64_t count = 1;
    std::uint32_t state = 2166136261U;
    for (const auto extent : dims) count *= extent;
    for (const char c : name) state = (state ^ static_cast<unsigned char>(c)) * 16777619U;
    std::vector<float> values;
    for (std::uint64_t i = 0; i < count; ++i) {
      state = state * 1664525U + 1013904223U;
      values.push_back((static_cast<float>(state >> 8) / 8388608.0F - 1.0F) * 0.25F);
    }
    return tensor(name, dims, values);
  }
  GgufBuilder& remove_tensor(const std::string& name) {
    std::erase_if(tensors, [&](const Entry& entry) { return entry.name == name; });
    return *this;
  }

  Bytes bytes() const {
    Bytes file;
    for (const char c : {'G', 'G', 'U', 'F'}) file.push_back(static_cast<std::byte>(c));
    append(file, version);
    append(file, static_cast<std::uint64_t>(tensors.size()));
    append(file, static_cast<std::uint64_t>(keys.size()));
    for (const Key& key : keys) {
      append_text(file, key.name);
      append(file, key.type);
      file.insert(file.end(), key.value.begin(), key.value.end());
    }
    std::uint64_t end = 0;
    for (const Entry& entry : tensors) {
      append_text(file, entry.name);
      append(file, static_cast<std::uint32_t>(entry.dims.size()));
      for (const auto extent : entry.dims) append(file, extent);
      append(file, entry.type);
      append(file, entry.offset == automatic ? end : entry.offset);
      end += padded(entry.data.size());
    }
    if (tensors.empty()) return file;
    file.resize(padded(file.size()));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      file.insert(file.end(), tensors[i].data.begin(), tensors[i].data.end());
      if (pad_the_end || i + 1 < tensors.size()) file.resize(padded(file.size()));
    }
    return file;
  }
  void write(const std::string& path) const {
    const Bytes file = bytes();
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  }
  // The file as the reader sees it; the bytes live as long as anything points into them.
  diecast::Gguf open() const {
    const auto file = std::make_shared<const Bytes>(bytes());
    return diecast::Gguf(*file, "tiny.gguf", file);
  }

 private:
  std::size_t padded(std::size_t size) const { return (size + alignment - 1) / alignment * alignment; }
};

// A byte-level vocabulary of 16 pieces: 11 letters, 3 merges of them, a control and a user-defined piece.
inline void add_tiny_vocabulary(GgufBuilder& gguf) {
  gguf.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "gpt-2");
  gguf.strings("tokenizer.ggml.tokens", {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "ab", "cd", "abcd", "<|end|>", "<tool>"});
  gguf.ints("tokenizer.ggml.token_type", {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 4});
  gguf.strings("tokenizer.ggml.merges", {"a b", "c d", "ab cd"});
  gguf.u32("tokenizer.ggml.bos_token_id", 14).u32("tokenizer.ggml.eos_token_id", 14);
}

// llama: hidden 12, 2 layers, 2 query heads and 1 KV head of 6, MLP 20, vocabulary 16, tied head.
inline GgufBuilder tiny_llama(const std::string& architecture = "llama") {
  GgufBuilder gguf;
  gguf.text("general.architecture", architecture).text("general.name", "Tiny");
  const std::string a = architecture + ".";
  gguf.u32(a + "block_count", 2).u32(a + "context_length", 32).u32(a + "embedding_length", 12).u32(a + "feed_forward_length", 20);
  gguf.u32(a + "attention.head_count", 2).u32(a + "attention.head_count_kv", 1).f32(a + "attention.layer_norm_rms_epsilon", 1e-5F);
  gguf.f32(a + "rope.freq_base", 10000.0F).u32(a + "rope.dimension_count", 6).u32(a + "vocab_size", 16);
  add_tiny_vocabulary(gguf);
  gguf.some_tensor("token_embd.weight", {12, 16}).some_tensor("output_norm.weight", {12});
  for (const std::string block : {"blk.0.", "blk.1."}) {
    gguf.some_tensor(block + "attn_norm.weight", {12}).some_tensor(block + "ffn_norm.weight", {12});
    gguf.some_tensor(block + "attn_q.weight", {12, 12}).some_tensor(block + "attn_k.weight", {12, 6});
    gguf.some_tensor(block + "attn_v.weight", {12, 6}).some_tensor(block + "attn_output.weight", {12, 12});
    gguf.some_tensor(block + "ffn_gate.weight", {12, 20}).some_tensor(block + "ffn_up.weight", {12, 20});
    gguf.some_tensor(block + "ffn_down.weight", {20, 12});
  }
  return gguf;
}

// qwen2: the same sizes, Q, K and V with a bias.
inline GgufBuilder tiny_qwen2() {
  GgufBuilder gguf = tiny_llama("qwen2");
  for (const std::string block : {"blk.0.", "blk.1."}) {
    gguf.some_tensor(block + "attn_q.bias", {12}).some_tensor(block + "attn_k.bias", {6}).some_tensor(block + "attn_v.bias", {6});
  }
  return gguf;
}

// stablelm: the same sizes, LayerNorm with biases.
inline GgufBuilder tiny_stablelm() {
  GgufBuilder gguf = tiny_llama("stablelm");
  gguf.remove_key("stablelm.attention.layer_norm_rms_epsilon").f32("stablelm.attention.layer_norm_epsilon", 1e-5F).some_tensor("output_norm.bias", {12});
  for (const std::string block : {"blk.0.", "blk.1."}) gguf.some_tensor(block + "attn_norm.bias", {12}).some_tensor(block + "ffn_norm.bias", {12});
  return gguf;
}

// gpt2 (or gptneox, starcoder2, which turn instead of learning positions): hidden 12, 3 heads of 4, plain MLP 20, vocabulary 16, 32 positions, tied head.
inline GgufBuilder tiny_plain(const std::string& architecture, std::uint32_t layers = 2) {
  GgufBuilder gguf;
  gguf.text("general.architecture", architecture).text("general.name", "Tiny");
  const std::string a = architecture + ".";
  gguf.u32(a + "block_count", layers).u32(a + "context_length", 32).u32(a + "embedding_length", 12).u32(a + "feed_forward_length", 20);
  gguf.u32(a + "attention.head_count", 3).f32(a + "attention.layer_norm_epsilon", 1e-5F);
  add_tiny_vocabulary(gguf);
  const auto linear = [&](const std::string& name, std::uint64_t in, std::uint64_t out) {
    gguf.some_tensor(name + ".weight", {in, out}).some_tensor(name + ".bias", {out});
  };
  const auto norm = [&](const std::string& name) { gguf.some_tensor(name + ".weight", {12}).some_tensor(name + ".bias", {12}); };
  gguf.some_tensor("token_embd.weight", {12, 16});
  if (architecture == "gpt2") gguf.some_tensor("position_embd.weight", {12, 32});
  norm("output_norm");
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    norm(block + "attn_norm");
    norm(block + "ffn_norm");
    linear(block + "attn_qkv", 12, 36);
    linear(block + "attn_output", 12, 12);
    linear(block + "ffn_up", 12, 20);
    linear(block + "ffn_down", 20, 12);
  }
  return gguf;
}
inline GgufBuilder tiny_gpt2() { return tiny_plain("gpt2"); }

// gemma3 (or gemma2): hidden 12, 2 layers, 2 query heads and 1 KV head of 8, MLP 20, vocabulary 16, window 4.
inline GgufBuilder tiny_gemma(const std::string& architecture = "gemma3") {
  GgufBuilder gguf = tiny_llama(architecture);
  const std::string a = architecture + ".";
  gguf.remove_key(a + "rope.dimension_count").f32(a + "rope.freq_base", 1e6F).u32(a + "attention.sliding_window", 4);
  gguf.u32(a + "attention.key_length", 8).u32(a + "attention.value_length", 8);
  for (const std::string block : {"blk.0.", "blk.1."}) {
    gguf.some_tensor(block + "attn_q.weight", {12, 16}).some_tensor(block + "attn_k.weight", {12, 8});
    gguf.some_tensor(block + "attn_v.weight", {12, 8}).some_tensor(block + "attn_output.weight", {16, 12});
    gguf.some_tensor(block + "post_attention_norm.weight", {12}).some_tensor(block + "post_ffw_norm.weight", {12});
    if (architecture == "gemma3") gguf.some_tensor(block + "attn_q_norm.weight", {8}).some_tensor(block + "attn_k_norm.weight", {8});
  }
  return gguf;
}

}  // namespace diecast_test
