#include <catch2/catch.hpp>

#include <random>
#include <string>
#include <vector>

#include <diecast/tokens/detokenizer.hpp>
#include <diecast/tokens/make_tokenizer.hpp>

#include "toy.hpp"

using namespace diecast;
using namespace tokens_test;
using Deltas = std::vector<std::string>;

namespace {

// A tokenizer made of what each id writes.
class Spelled final : public Tokenizer {
 public:
  Spelled(std::vector<std::string> bytes, bool strips) : bytes_(std::move(bytes)), strips_(strips) {}
  std::vector<int> encode(const PromptText&) const override { return {}; }
  int size() const override { return static_cast<int>(bytes_.size()); }
  std::string_view bytes(int id) const override { return bytes_.at(static_cast<std::size_t>(id)); }
  std::string_view piece(int id) const override { return bytes(id); }
  bool is_control(int id) const override { return bytes(id).empty(); }
  bool strips_first_space() const override { return strips_; }

 private:
  std::vector<std::string> bytes_;
  bool strips_;
};

Deltas deltas(const Tokenizer& tokenizer, const std::vector<int>& ids) {
  StreamDecoder decoder(tokenizer);
  Deltas result;
  for (const int id : ids) result.push_back(decoder.next(id));
  result.push_back(decoder.finish());
  return result;
}

}  // namespace

TEST_CASE("K7: a character spread over tokens is shown when it is whole") {
  const auto tokenizer = make_tokenizer(byte_tables());
  CHECK(deltas(*tokenizer, {0xF0, 0x9F, 0x98, 0x80}) == Deltas{"", "", "", "\U0001F600", ""});
  CHECK(deltas(*tokenizer, {0xF0, 0x9F}) == Deltas{"", "", "\uFFFD"});
  CHECK(deltas(*tokenizer, {0xF0, 'A'}) == Deltas{"", "\uFFFDA", ""});
}

TEST_CASE("K7: an end token between the halves of a character writes nothing") {
  auto tables = byte_tables();
  const int end = add_piece(tables, "<end>", TokenKind::control);
  const auto tokenizer = make_tokenizer(tables);
  CHECK(deltas(*tokenizer, {0xF0, 0x9F, end}) == Deltas{"", "", "", "\uFFFD"});
}

TEST_CASE("K8: one prefix space goes, only at the start") {
  const Spelled strips({"", " Hello", " x", " ", "\n"}, true);
  CHECK(decode(strips, std::vector<int>{0, 1, 2}) == "Hello x");
  CHECK(decode(strips, std::vector<int>{3, 3, 1}) == "  Hello");
  CHECK(decode(strips, std::vector<int>{4, 1}) == "\n Hello");
  CHECK(decode(strips, std::vector<int>{0, 0}) == "");
  const Spelled keeps({"", " Hello", " x"}, false);
  CHECK(decode(keeps, std::vector<int>{0, 1, 2}) == " Hello x");
}

TEST_CASE("a decoder can be used again after it finished") {
  const Spelled strips({" a", "\xF0"}, true);
  StreamDecoder decoder(strips);
  CHECK(decoder.next(0) == "a");
  CHECK(decoder.next(1).empty());
  CHECK(decoder.finish() == "\uFFFD");
  CHECK(decoder.next(0) == "a");
  CHECK(decoder.finish().empty());
}

TEST_CASE("joined deltas are the text of the whole list, and each is whole characters") {
  std::mt19937 random(11);
  const std::vector<int> likely{0x41, 0x20, 0x80, 0x9F, 0x98, 0xA0, 0xBF, 0xC2, 0xE2, 0xED, 0xF0, 0xF4, 0xFF};
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> pieces;
    for (int i = 0; i < 8; ++i) {
      std::string piece;
      for (std::size_t length = random() % 5; length > 0; --length) piece.push_back(static_cast<char>(likely[random() % likely.size()]));
      pieces.push_back(piece);
    }
    const Spelled tokenizer(pieces, random() % 2 == 0);
    std::vector<int> ids;
    std::string bytes;
    for (std::size_t length = random() % 20; length > 0; --length) {
      ids.push_back(static_cast<int>(random() % 8));
      bytes += pieces[static_cast<std::size_t>(ids.back())];
    }
    if (tokenizer.strips_first_space() && !bytes.empty() && bytes[0] == ' ') bytes.erase(0, 1);
    std::string joined;
    for (const std::string& delta : deltas(tokenizer, ids)) {
      CHECK(replace_invalid_utf8(delta) == delta);
      joined += delta;
    }
    CHECK(joined == replace_invalid_utf8(bytes));
    CHECK(joined == decode(tokenizer, ids));
  }
}
