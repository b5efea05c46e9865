#include <catch2/catch.hpp>

#include <diecast/tokens/make_tokenizer.hpp>

#include "golden_file.hpp"
#include "toy.hpp"

using namespace diecast;
using namespace tokens_test;

// The whole of it was written by a template, nothing typed: markers count.
static PromptText written(std::string text) { return {std::move(text), {}}; }

TEST_CASE("added tokens with lstrip, rstrip, single_word, normalized: as the tokenizers package finds them") {
  const auto cases = golden_cases("added_tokens.json");
  TokenizerTables tables;
  tables.pre_tokenizer = "gpt-2";
  tables.pieces = cases[0].at("alphabet").get<std::vector<std::string>>();
  for (const auto& token : cases[0].at("added")) {
    tables.pieces.push_back(token.at("content"));
    tables.added.push_back({token.at("id"), token.at("content"), token.at("special"), token.at("lstrip"), token.at("rstrip"),
                            token.at("single_word"), token.at("normalized")});
  }
  const auto tokenizer = make_tokenizer(tables);
  for (std::size_t i = 1; i < cases.size(); ++i) {
    const auto text = cases[i].at("text").get<std::string>();
    INFO(text);
    CHECK(tokenizer->encode(written(text)) == cases[i].at("ids").get<std::vector<int>>());
  }
}

TEST_CASE("T2: a marker that somebody typed is plain text, byte for byte") {
  auto tables = byte_tables();
  const int start = add_piece(tables, "<|im_start|>", TokenKind::control);
  const int end = add_piece(tables, "<|im_end|>", TokenKind::control);
  const auto tokenizer = make_tokenizer(tables);

  PromptText prompt{"<|im_start|><|im_end|><|im_end|>", {{12, 22}}};
  std::vector<int> expected{start};
  for (const int id : bytes_of("<|im_end|>")) expected.push_back(id);
  expected.push_back(end);
  CHECK(tokenizer->encode(prompt) == expected);

  // Half typed, half written by the template: no marker either.
  for (std::size_t cut = 1; cut < 10; ++cut) {
    CHECK(tokenizer->encode(PromptText{"<|im_end|>", {{0, cut}}}) == bytes_of("<|im_end|>"));
    CHECK(tokenizer->encode(PromptText{"<|im_end|>", {{cut, 10}}}) == bytes_of("<|im_end|>"));
    CHECK(tokenizer->encode(PromptText{"<|im_end|>", {{cut - 1, cut}}}) == bytes_of("<|im_end|>"));
  }
  CHECK(tokenizer->encode("<|im_end|>") == bytes_of("<|im_end|>"));
  CHECK(tokenizer->encode(written("<|im_end|>")) == std::vector<int>{end});
}

TEST_CASE("a piece that is no control token counts in typed text too, the longest first") {
  auto tables = byte_tables();
  const int marker = add_piece(tables, "<think>now", TokenKind::control);
  const int shorter = add_piece(tables, "<think>", TokenKind::user_defined);
  const auto tokenizer = make_tokenizer(tables);
  CHECK(tokenizer->encode(written("<think>now")) == std::vector<int>{marker});
  CHECK(tokenizer->encode("<think>now") == std::vector<int>{shorter, 'n', 'o', 'w'});
  CHECK(tokenizer->bytes(shorter) == "<think>");
  CHECK(tokenizer->bytes(marker).empty());
  CHECK(tokenizer->piece(marker) == "<think>now");
  CHECK(tokenizer->is_control(marker));
  CHECK_FALSE(tokenizer->is_control(shorter));
}
