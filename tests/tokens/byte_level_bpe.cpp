#include <catch2/catch.hpp>

#include <random>

#include <diecast/tokens/detokenizer.hpp>
#include <diecast/tokens/make_tokenizer.hpp>

#include "golden_file.hpp"
#include "toy.hpp"

using namespace diecast;
using namespace tokens_test;

TEST_CASE("merges are made in order of rank, the leftmost first") {
  auto tables = byte_tables();
  const int ab = add_piece(tables, "ab");
  const int bc = add_piece(tables, "bc");
  const int aa = add_piece(tables, "aa");
  const int abc = add_piece(tables, "abc");
  tables.merges = {"b c", "a b", "a a", "ab c", "a bc"};
  const auto tokenizer = make_tokenizer(tables);
  CHECK(tokenizer->encode("ab") == std::vector<int>{ab});
  CHECK(tokenizer->encode("bcb") == std::vector<int>{bc, 'b'});
  CHECK(tokenizer->encode("abc") == std::vector<int>{abc});  // b c first, then a bc
  CHECK(tokenizer->encode("aaa") == std::vector<int>{aa, 'a'});
  CHECK(tokenizer->encode("aaaab") == std::vector<int>{aa, 'a', ab});
}

// The same by the definition: look for the best pair in the whole word, again and again.
TEST_CASE("random merges on random words give what the plain definition gives") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    auto tables = byte_tables();
    std::vector<std::string> pieces{"a", "b", "c"};
    for (int i = 0; i < 12; ++i) {
      const std::string left = pieces[random() % pieces.size()];
      const std::string right = pieces[random() % pieces.size()];
      if (std::find(pieces.begin(), pieces.end(), left + right) == pieces.end()) {
        pieces.push_back(left + right);
        add_piece(tables, left + right);
      }
      const std::string merge = left + " " + right;
      if (std::find(tables.merges.begin(), tables.merges.end(), merge) == tables.merges.end()) tables.merges.push_back(merge);
    }
    const auto tokenizer = make_tokenizer(tables);
    for (int i = 0; i < 20; ++i) {
      std::vector<std::string> word;
      std::string text;
      for (std::size_t length = random() % 30; length > 0; --length) word.push_back(pieces[random() % 3]);
      for (const std::string& letter : word) text += letter;
      while (true) {
        std::size_t best = tables.merges.size();
        std::size_t at = 0;
        for (std::size_t j = 0; j + 1 < word.size(); ++j) {
          const auto found = std::find(tables.merges.begin(), tables.merges.end(), word[j] + " " + word[j + 1]);
          const auto rank = static_cast<std::size_t>(found - tables.merges.begin());
          if (rank < best) best = rank, at = j;
        }
        if (best == tables.merges.size()) break;
        word[at] += word[at + 1];
        word.erase(word.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      }
      std::vector<std::string> found;
      for (const int id : tokenizer->encode(text)) found.emplace_back(tokenizer->piece(id));
      CHECK(found == word);
    }
  }
}

TEST_CASE("with ignore_merges a whole pre-token that is a piece is taken as it is") {
  auto tables = byte_tables();
  add_piece(tables, "ab");
  const int abc = add_piece(tables, "abc");
  tables.merges = {"a b"};
  CHECK(make_tokenizer(tables)->encode("abc") == std::vector<int>{256, 'c'});
  tables.ignore_merges = true;
  CHECK(make_tokenizer(tables)->encode("abc") == std::vector<int>{abc});
  CHECK(make_tokenizer(tables)->encode("abcb") == std::vector<int>{256, 'c', 'b'});
}

TEST_CASE("K6: bytes that are no UTF-8 go through byte-level BPE and back") {
  for (const std::string name : {"gpt-2", "smollm", "llama-bpe", "qwen2"}) {
    const auto tokenizer = make_tokenizer(byte_tables(name));
    for (const std::string text : {"\xE2\x80", "\xF0\x9F", "\xFF\xFE", "\xC0\x80", "\xED\xA0\x80", "\x61\xF0\x9F\x98\x62"}) {
      std::string bytes;
      for (const int id : tokenizer->encode(text)) bytes += tokenizer->bytes(id);
      CHECK(bytes == text);
    }
  }
}

TEST_CASE("K11: a word of a million equal letters") {
  auto tables = byte_tables();
  std::string piece = "A";
  for (int i = 0; i < 6; ++i) {
    tables.merges.push_back(piece + " " + piece);
    add_piece(tables, piece += piece);
  }
  const auto ids = make_tokenizer(tables)->encode(std::string(1'000'000, 'A'));
  CHECK(ids == std::vector<int>(1'000'000 / 64, 261));
}

TEST_CASE("typed text never makes a control token, whatever the merges say") {
  auto tables = byte_tables();
  const int stop = add_piece(tables, "stop", TokenKind::control);
  add_piece(tables, "st");
  add_piece(tables, "op");
  tables.merges = {"s t", "o p", "st op"};
  for (const bool ignore_merges : {false, true}) {
    tables.ignore_merges = ignore_merges;
    CHECK(make_tokenizer(tables)->encode("stop") == std::vector<int>{257, 258});
    CHECK(make_tokenizer(tables)->encode(PromptText{"stop", {}}) == std::vector<int>{stop});
  }
}

TEST_CASE("a token of the control type is a marker, even where the list of added tokens does not call it special") {
  auto tables = byte_tables();
  const int stop = add_piece(tables, "stop", TokenKind::control);
  tables.added[0].special = false;
  const auto tokenizer = make_tokenizer(tables);
  CHECK(tokenizer->encode("stop") == bytes_of("stop"));
  CHECK(tokenizer->encode(PromptText{"stop", {}}) == std::vector<int>{stop});
  CHECK(tokenizer->bytes(stop).empty());
}

TEST_CASE("tables that contradict themselves are refused with a sentence") {
  const auto refused = [](const TokenizerTables& tables, const std::string& words) {
    CHECK_THROWS_WITH(make_tokenizer(tables), Catch::Contains(words));
  };
  auto tables = byte_tables();
  tables.pieces['A'] = "AA";
  tables.pieces['B'] = "BB";
  refused(tables, "no pieces for the bytes 'A', 'B'");
  tables = byte_tables();
  add_piece(tables, "A");
  refused(tables, "the piece \"A\" has two ids: 65 and 256");
  tables = byte_tables();
  tables.merges = {"a b"};
  refused(tables, "merge 0 (\"a b\") makes \"ab\", which is no piece");
  tables.merges = {"a bc"};
  refused(tables, "joins \"bc\", which is no piece");
  tables.merges = {"ab"};
  refused(tables, "is not two pieces with a space between");
  tables = byte_tables();
  tables.kinds.pop_back();
  refused(tables, "256 pieces, but 255 token types");
  tables = byte_tables();
  tables.eos = 256;
  refused(tables, "the EOS token has the id 256, but ids go from 0 to 255");
  tables.eos = -1;
  refused(tables, "the id -1");
  tables = byte_tables();
  tables.added.push_back({999, "x", true, false, false, false, false});
  refused(tables, "the added token \"x\" has the id 999");
  tables = byte_tables();
  tables.normalizer = "Lowercase";
  refused(tables, "the normalizer \"Lowercase\" is not known");
  refused(byte_tables("default"), "does not say");
  refused(TokenizerTables{}, "");
}

TEST_CASE("an id that the vocabulary lacks is an error, not a read past its end") {
  const auto tokenizer = make_tokenizer(byte_tables());
  CHECK(tokenizer->size() == 256);
  for (const int id : {-1, 256, 1 << 30}) {
    CHECK_THROWS_AS(tokenizer->bytes(id), Error);
    CHECK_THROWS_AS(tokenizer->piece(id), Error);
    CHECK_THROWS_AS(tokenizer->is_control(id), Error);
  }
}

TEST_CASE("BOS: what the file says, and nothing where it says nothing") {
  auto tables = byte_tables();
  tables.bos = 1;
  CHECK_FALSE(make_tokenizer(tables)->add_bos);
  tables.add_bos = true;
  const auto tokenizer = make_tokenizer(tables);
  CHECK(tokenizer->add_bos);
  CHECK(tokenizer->bos == 1);
  CHECK(tokenizer->encode("") == std::vector<int>{});
}
