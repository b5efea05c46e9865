// GGUF files that are well-formed and hold no model that we can run: refused by name and with both values; broken ones without a crash.
#include <diecast/files/gguf_model.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "files/gguf_builder.hpp"

using namespace diecast;
using namespace diecast_test;
using Catch::Contains;

namespace {

std::string refusal(const GgufBuilder& builder) {
  try {
    read_gguf(builder.open());
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("F12: architectures that are not supported are named") {
  for (const std::string name : {"t5", "mamba", "bert", "whatever", "llama4", "qwen3moe", "granitemoe", "granitehybrid", "rwkv7", "qwen2vl"}) {
    GgufBuilder builder = tiny_llama();
    builder.text("general.architecture", name);
    CHECK_THAT(refusal(builder), Contains("unsupported architecture '" + name + "'"));
  }
  GgufBuilder evil = tiny_llama();
  evil.text("general.architecture", "x\n\"; system(\"");
  CHECK_THAT(refusal(evil), Contains("unsupported architecture 'x\\x0a\"; system(\"'"));
  GgufBuilder none = tiny_llama();
  none.remove_key("general.architecture");
  CHECK_THAT(refusal(none), Contains("'general.architecture' is missing"));
  GgufBuilder experts = tiny_llama();
  experts.u32("llama.expert_count", 8);
  CHECK_THAT(refusal(experts), Contains("a mixture of experts is not supported"));
  GgufBuilder adapter = tiny_llama();
  adapter.text("general.type", "adapter");
  CHECK_THAT(refusal(adapter), Contains("of the type 'adapter'"));
  GgufBuilder split = tiny_llama();
  split.raw("split.count", 2, std::uint16_t{3});
  CHECK_THAT(refusal(split), Contains("split into 3 files"));
}

TEST_CASE("tensors that are missing, misshapen or not known are refused by name, and so are unknown keys") {
  const auto names = tiny_llama().tensors;
  for (const auto& entry : names) {
    GgufBuilder builder = tiny_llama();
    builder.remove_tensor(entry.name);
    CHECK_THAT(refusal(builder), Contains("the tensor '" + entry.name + "' is missing"));
  }
  GgufBuilder shape = tiny_llama();
  shape.some_tensor("blk.1.ffn_down.weight", {12, 20});
  CHECK(refusal(shape) == "tiny.gguf: the tensor 'blk.1.ffn_down.weight' has the shape [12, 20], the model needs [20, 12]");
  shape = tiny_llama();
  shape.some_tensor("blk.0.attn_k.weight", {12, 12});
  CHECK_THAT(refusal(shape), Contains("'blk.0.attn_k.weight' has the shape [12, 12], the model needs [12, 6]"));
  GgufBuilder extra = tiny_llama();
  extra.some_tensor("blk.1.attn_sub_norm.weight", {12});
  CHECK_THAT(refusal(extra), Contains("the tensor 'blk.1.attn_sub_norm.weight' is not part of a model of the architecture 'llama'"));
  extra = tiny_llama();
  extra.some_tensor("blk.2.attn_norm.weight", {12});
  CHECK_THAT(refusal(extra), Contains("'blk.2.attn_norm.weight'"));
  GgufBuilder key = tiny_llama();
  key.f32("llama.residual_scale", 0.5F);
  CHECK_THAT(refusal(key), Contains("the key 'llama.residual_scale' is not known"));
}

TEST_CASE("keys with impossible values are refused with the value") {
  const auto with = [](const std::string& key, std::uint32_t value) {
    GgufBuilder builder = tiny_llama();
    builder.u32("llama." + key, value);
    return refusal(builder);
  };
  CHECK_THAT(with("block_count", 0), Contains("'llama.block_count' is 0, outside 1 to 2147483647"));
  CHECK_THAT(with("block_count", 2147483647), Contains("'llama.block_count' is 2147483647, the file has only 20 tensors"));
  CHECK_THAT(with("block_count", 3), Contains("the tensor 'blk.2."));
  CHECK_THAT(with("embedding_length", 0xffffffffU), Contains("4294967295"));
  CHECK_THAT(with("embedding_length", 24), Contains("the model needs [24"));
  CHECK_THAT(with("embedding_length", 1U << 25), Contains("impossible model: ") && Contains("33554432 and 16777216"));
  CHECK_THAT(with("attention.head_count", 5), Contains("12 is no multiple of the 5 heads"));
  CHECK_THAT(with("attention.head_count_kv", 0), Contains("'llama.attention.head_count_kv' is 0"));
  GgufBuilder builder = tiny_llama();
  builder.u32("llama.attention.head_count", 3).u32("llama.attention.head_count_kv", 2);
  CHECK_THAT(refusal(builder), Contains("3 query heads cannot share 2 KV heads"));
  for (const float epsilon : {0.0F, -1.0F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    builder = tiny_llama();
    builder.f32("llama.attention.layer_norm_rms_epsilon", epsilon);
    CHECK_THAT(refusal(builder), Contains("'llama.attention.layer_norm_rms_epsilon' is"));
  }
  builder = tiny_llama();
  builder.ints("llama.attention.head_count_kv", {1, 1});
  CHECK(refusal(builder).empty());
  builder.ints("llama.attention.head_count_kv", {1, 2});
  CHECK_THAT(refusal(builder), Contains("is 1 for layer 0 and 2 for layer 1"));
  builder = tiny_llama();
  builder.u32("llama.attention.head_count", 1U << 30).u32("llama.attention.head_count_kv", 1U << 30);
  builder.u32("llama.attention.key_length", 1U << 30).u32("llama.attention.value_length", 1U << 30);
  CHECK_THAT(refusal(builder), Contains("1073741824 heads of 1073741824 values"));
  builder = tiny_llama();
  builder.remove_key("llama.context_length");
  CHECK_THAT(refusal(builder), Contains("the key 'llama.context_length' is missing"));
}

TEST_CASE("F5: every prefix of a whole tiny model is refused") {
  for (GgufBuilder builder : {tiny_llama(), tiny_gpt2()}) {
    builder.pad_the_end = false;
    const Bytes whole = builder.bytes();
    std::size_t accepted = 0;
    for (std::size_t length = 0; length < whole.size(); length += length < 4000 ? 1 : 37) {
      const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
      try {
        read_gguf(Gguf(cut, "cut"));
        ++accepted;
      } catch (const Error&) {
      }
    }
    CHECK(accepted == 0);
  }
}

TEST_CASE("any one byte of a tiny model's header changed: read or refused, never a crash") {
  const Bytes whole = tiny_llama().bytes();
  for (std::size_t at = 0; at < std::min<std::size_t>(whole.size(), 3200); ++at) {
    Bytes changed = whole;
    changed[at] ^= static_cast<std::byte>(at % 2 == 0 ? 0x01 : 0x81);
    try {
      read_gguf(Gguf(changed, "changed"));
    } catch (const Error&) {
    }
  }
  SUCCEED();
}
