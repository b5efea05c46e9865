// A tokenizer whose state was computed before and lies in memory does all that the one does that computed it; damaged state is a sentence, or a
// tokenizer that answers. What is right is what the first one does, which other tests hold to ids that others made.
#include <catch2/catch.hpp>

#include <cstring>
#include <random>

#include <diecast/tokens/make_tokenizer.hpp>

#include "toy.hpp"

using namespace diecast;
using namespace tokens_test;

namespace {

TokenizerTables toy_tables() {
  TokenizerTables tables = byte_tables();
  for (const char* piece : {"th", "the", "in", "ing", "\xC4\xA0t", "\xC4\xA0the"}) add_piece(tables, piece);
  tables.merges = {"t h", "th e", "i n", "in g", "\xC4\xA0 t", "\xC4\xA0t he", "\xC4\xA0 the"};
  tables.merges.erase(tables.merges.begin() + 5);  // "he" is no piece
  add_piece(tables, "<|end|>", TokenKind::control);
  add_piece(tables, "<thinking>", TokenKind::user_defined);
  tables.bos = 262;
  tables.add_bos = true;
  return tables;
}

void check_same(const Tokenizer& a, const Tokenizer& b) {
  REQUIRE(a.size() == b.size());
  for (int id = 0; id < a.size(); ++id) {
    CHECK(a.bytes(id) == b.bytes(id));
    CHECK(a.piece(id) == b.piece(id));
    CHECK(a.is_control(id) == b.is_control(id));
  }
  CHECK(a.bos == b.bos);
  CHECK(a.eos == b.eos);
  CHECK(a.add_bos == b.add_bos);
  std::mt19937 random(7);
  constexpr std::string_view letters = "the ing<|end|><thinking>\n\xC3\xA9\x80";
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (auto i = random() % 40; i > 0; --i) text += letters[random() % letters.size()];
    INFO(text);
    CHECK(a.encode(text) == b.encode(text));
    CHECK(a.encode(PromptText{text, {}}) == b.encode(PromptText{text, {}}));
  }
}

// The state in memory of its own, as a mapping is: aligned.
std::shared_ptr<const Tokenizer> from_state(TokenizerTables tables, const std::string& state) {
  const auto memory = std::make_shared<std::vector<std::uint64_t>>(state.size() / 8 + 1);
  std::memcpy(memory->data(), state.data(), state.size());
  tables.prepared = {std::as_bytes(std::span(*memory)).first(state.size()), {}, memory};
  return make_tokenizer(tables);
}

}  // namespace

TEST_CASE("a prepared tokenizer is the one that it was prepared by") {
  for (const bool ignore_merges : {false, true})
    for (const char* normalizer : {"", "NFC"}) {
      TokenizerTables tables = toy_tables();
      tables.ignore_merges = ignore_merges;
      tables.normalizer = normalizer;
      const TokenizerTables made = prepared(tables);
      check_same(*make_tokenizer(tables), *make_tokenizer(made));
      CHECK(prepared(made).prepared->bytes.data() == made.prepared->bytes.data());  // it is prepared already
    }
}

TEST_CASE("damaged state of a tokenizer is refused, or it answers") {
  TokenizerTables tables = toy_tables();
  const std::string state = ByteLevelBpe(tables).prepared();
  tables.pieces.clear();
  tables.kinds.clear();
  tables.merges.clear();
  check_same(*make_tokenizer(toy_tables()), *from_state(tables, state));
  for (std::size_t size = 0; size < state.size(); size += 8) CHECK_THROWS_AS(from_state(tables, state.substr(0, size)), Error);
  CHECK_THROWS_WITH(from_state(tables, state + std::string(8, '\0')), Catch::Contains("8 bytes follow its last list"));
  int refused = 0;
  for (std::size_t at = 0; at < state.size(); ++at)
    for (const char byte : {'\0', '\x7F', '\xFF'}) {
      std::string damaged = state;
      damaged[at] = byte;
      try {
        const auto tokenizer = from_state(tables, damaged);
        for (const int id : tokenizer->encode(PromptText{"the thing <|end|> in\xC3\xA9", {}})) {
          tokenizer->bytes(id);
          tokenizer->piece(id);
        }
      } catch (const Error& error) {
        ++refused;
        CHECK(std::string(error.what()).size() > 20);
      }
    }
  CHECK(refused > 1000);
}

TEST_CASE("state of a tokenizer at an odd address is refused") {
  TokenizerTables tables = toy_tables();
  const std::string state = ByteLevelBpe(tables).prepared();
  std::vector<std::uint64_t> memory(state.size() / 8 + 2);
  char* const at = reinterpret_cast<char*>(memory.data()) + 1;
  std::memcpy(at, state.data(), state.size());
  tables.prepared = {std::as_bytes(std::span(at, state.size())), {}, nullptr};
  CHECK_THROWS_WITH(make_tokenizer(tables), Catch::Contains("multiple of 8"));
}
