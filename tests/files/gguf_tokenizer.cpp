// The tokenizer's tables out of GGUF, from vocabulary-only files as well.
#include <diecast/files/gguf_tokenizer.hpp>

#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "files/gguf_builder.hpp"

using namespace diecast;
using namespace diecast_test;
using Catch::Contains;

namespace {

GgufBuilder bpe() {
  GgufBuilder builder;
  builder.text("general.architecture", "qwen2");
  add_tiny_vocabulary(builder);
  return builder;
}
GgufBuilder sentencepiece() {
  GgufBuilder builder;
  builder.text("tokenizer.ggml.model", "llama").strings("tokenizer.ggml.tokens", {"<unk>", "<s>", "</s>", "<0x41>", "\xe2\x96\x81user", "user"});
  builder.floats("tokenizer.ggml.scores", {0, 0, 0, 0, -1.5F, -2.25F}).ints("tokenizer.ggml.token_type", {2, 3, 3, 6, 1, 4});
  builder.u32("tokenizer.ggml.bos_token_id", 1).u32("tokenizer.ggml.eos_token_id", 2).u32("tokenizer.ggml.unknown_token_id", 0);
  builder.flag("tokenizer.ggml.add_bos_token", true).flag("tokenizer.ggml.add_eos_token", false).flag("tokenizer.ggml.add_space_prefix", false);
  return builder;
}
std::string refusal(const GgufBuilder& builder) {
  try {
    const Gguf file = builder.open();
    const auto tables = read_gguf_tokenizer(file);
    read_gguf_eos(file, tables.pieces.size());
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("byte-level BPE: pieces, merges, kinds, added tokens, of a file without tensors") {
  const TokenizerTables tables = read_gguf_tokenizer(bpe().open());
  CHECK(tables.family == TokenizerTables::Family::byte_level_bpe);
  CHECK(tables.pre_tokenizer == "gpt-2");
  CHECK(tables.pieces.size() == 16);
  CHECK(tables.pieces[13] == "abcd");
  CHECK(tables.merges == std::vector<std::string>{"a b", "c d", "ab cd"});
  CHECK(tables.kinds[14] == TokenKind::control);
  REQUIRE(tables.added.size() == 2);
  CHECK(tables.added[0].id == 14);
  CHECK(tables.added[0].content == "<|end|>");
  CHECK(tables.added[0].special);
  CHECK(tables.added[1].content == "<tool>");
  CHECK_FALSE(tables.added[1].special);
  CHECK(tables.bos == 14);
  CHECK_FALSE(tables.unknown);
  CHECK_FALSE(tables.add_bos);
  CHECK_FALSE(tables.ignore_merges);
  CHECK(tables.scores.empty());
}

TEST_CASE("Llama 3's pre-tokenizer brings its rule of whole pieces and its BOS") {
  GgufBuilder builder = bpe();
  builder.text("tokenizer.ggml.pre", "llama-bpe");
  TokenizerTables tables = read_gguf_tokenizer(builder.open());
  CHECK(tables.ignore_merges);
  CHECK(tables.add_bos == true);
  builder.flag("tokenizer.ggml.add_bos_token", false);
  CHECK(read_gguf_tokenizer(builder.open()).add_bos == false);
}

TEST_CASE("SentencePiece: scores, kinds and flags") {
  const TokenizerTables tables = read_gguf_tokenizer(sentencepiece().open());
  CHECK(tables.family == TokenizerTables::Family::sentencepiece);
  CHECK(tables.scores == std::vector<float>{0, 0, 0, 0, -1.5F, -2.25F});
  CHECK(tables.kinds[3] == TokenKind::byte);
  CHECK(tables.kinds[0] == TokenKind::unknown);
  REQUIRE(tables.added.size() == 3);
  CHECK(tables.added[2].id == 5);
  CHECK_FALSE(tables.added[2].special);
  CHECK(tables.unknown == 0);
  CHECK(tables.add_bos == true);
  CHECK(tables.add_eos == false);
  CHECK(tables.add_space_prefix == false);
}

TEST_CASE("E1: every id that ends an answer, from all keys") {
  GgufBuilder builder = bpe();
  builder.u32("tokenizer.ggml.eot_token_id", 3).u32("tokenizer.ggml.eom_token_id", 14);
  CHECK(read_gguf_eos(builder.open(), 16) == std::vector<int>{3, 14});
  builder.ints("tokenizer.ggml.eos_token_ids", {9, 3});
  CHECK(read_gguf_eos(builder.open(), 16) == std::vector<int>{3, 9, 14});
  builder.ints("tokenizer.ggml.eos_token_ids", {9, -1});
  CHECK_THAT(refusal(builder), Contains("'tokenizer.ggml.eos_token_ids' holds -1, the vocabulary has 16 ids"));
  builder.strings("tokenizer.ggml.eos_token_ids", {"x"});
  CHECK_THAT(refusal(builder), Contains("should be an array of int32 and is array of string"));
}

TEST_CASE("broken tables are refused with both values") {
  GgufBuilder builder = bpe();
  builder.u32("tokenizer.ggml.eos_token_id", 16);
  CHECK(refusal(builder) == "tiny.gguf: the key 'tokenizer.ggml.eos_token_id' is 16, the vocabulary has 16 ids");
  builder = bpe();
  builder.text("tokenizer.ggml.model", "t5");
  CHECK_THAT(refusal(builder), Contains("unsupported tokenizer 't5'"));
  builder = bpe();
  builder.ints("tokenizer.ggml.token_type", {1, 1});
  CHECK_THAT(refusal(builder), Contains("'tokenizer.ggml.token_type' has 2 elements, 'tokenizer.ggml.tokens' has 16"));
  builder = bpe();
  builder.ints("tokenizer.ggml.token_type", std::vector<std::int32_t>(16, 7));
  CHECK_THAT(refusal(builder), Contains("gives token 0 the unknown kind 7"));
  builder = bpe();
  builder.floats("tokenizer.ggml.token_type", std::vector<float>(16, 1));
  CHECK_THAT(refusal(builder), Contains("should be an array of int32 and is array of float32"));
  builder = bpe();
  builder.remove_key("tokenizer.ggml.merges");
  CHECK_THAT(refusal(builder), Contains("'tokenizer.ggml.merges' is missing"));
  builder = bpe();
  builder.remove_key("tokenizer.ggml.model");
  CHECK_THAT(refusal(builder), Contains("the file has no tokenizer"));
  builder = bpe();
  builder.strings("tokenizer.ggml.tokens", {});
  CHECK_THAT(refusal(builder), Contains("'tokenizer.ggml.tokens' is missing or empty"));
  builder = sentencepiece();
  builder.remove_key("tokenizer.ggml.scores");
  CHECK_THAT(refusal(builder), Contains("'tokenizer.ggml.scores' is missing"));
  builder.floats("tokenizer.ggml.scores", {1});
  CHECK_THAT(refusal(builder), Contains("'tokenizer.ggml.scores' has 1 elements, 'tokenizer.ggml.tokens' has 6"));
}

TEST_CASE("the chat template, when there is one") {
  GgufBuilder builder = bpe();
  CHECK_FALSE(read_gguf_chat_template(builder.open()));
  builder.text("tokenizer.chat_template", "{{ messages }}");
  CHECK(read_gguf_chat_template(builder.open()) == "{{ messages }}");
}
