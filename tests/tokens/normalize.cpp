#include <catch2/catch.hpp>

#include <diecast/tokens/make_tokenizer.hpp>
#include <diecast/tokens/normalize.hpp>

#include "golden_file.hpp"
#include "toy.hpp"

using namespace diecast;
using namespace tokens_test;

TEST_CASE("NFC and NFKC of random strings, as Python's unicodedata has them") {
  for (const auto& golden : golden_cases("normal_forms.json")) {
    const auto text = golden[0].get<std::string>();
    INFO(text);
    CHECK(normalize(text, NormalForm::nfc) == golden[1].get<std::string>());
    CHECK(normalize(text, NormalForm::nfkc) == golden[2].get<std::string>());
  }
}

// By hand, from the examples of UAX 15 and the composition exclusions.
TEST_CASE("normal forms by hand") {
  CHECK(normalize("e\u0301", NormalForm::nfc) == "\u00E9");
  CHECK(normalize("q\u0307\u0323", NormalForm::nfc) == "q\u0323\u0307");
  CHECK(normalize("a\u0305\u0301", NormalForm::nfc) == "a\u0305\u0301");  // a mark of the same class stands between: blocked
  CHECK(normalize("\u1E9B\u0323", NormalForm::nfc) == "\u1E9B\u0323");
  CHECK(normalize("\u1E9B\u0323", NormalForm::nfkc) == "\u1E69");
  CHECK(normalize("\uFB01", NormalForm::nfc) == "\uFB01");
  CHECK(normalize("\uFB01", NormalForm::nfkc) == "fi");
  CHECK(normalize("\u1112\u1161\u11AB", NormalForm::nfc) == "\uD55C");
  CHECK(normalize("\u0958", NormalForm::nfc) == "\u0915\u093C");  // excluded from composition
  CHECK(normalize("\u212B", NormalForm::nfc) == "\u00C5");
  CHECK(normalize("plain ASCII\n", NormalForm::nfkc) == "plain ASCII\n");
}

TEST_CASE("bytes that are no UTF-8 pass through normalisation, and no mark composes across them") {
  CHECK(normalize("e\xFF\u0301", NormalForm::nfc) == "e\xFF\u0301");
  CHECK(normalize("\xE2\x80", NormalForm::nfc) == "\xE2\x80");
  CHECK(normalize("e\u0301\xC0", NormalForm::nfkc) == "\u00E9\xC0");
}

TEST_CASE("what was typed stays typed through normalisation") {
  const auto typed = [](std::string text, std::vector<Range> ranges) {
    const Range all{0, text.size()};
    return normalize(PromptText{std::move(text), std::move(ranges)}, all, NormalForm::nfc);
  };
  const PromptText two = typed("ae\u0301b", {{1, 4}});
  CHECK(two.text == "a\u00E9" "b");
  CHECK(two.typed == std::vector<Range>{{1, 3}});
  CHECK(typed("e\u0301x", {{1, 3}}).typed == std::vector<Range>{{0, 2}});  // a typed mark on a letter of the template
  CHECK(typed("abc", {{0, 1}, {2, 3}}).typed == std::vector<Range>{{0, 1}, {2, 3}});
  CHECK(typed("abc", {}).typed.empty());
}

TEST_CASE("a tokenizer normalises where the file asks for it, and not inside markers") {
  auto tables = byte_tables();
  const int marker = add_piece(tables, "<e\u0301>", TokenKind::control);
  const std::string text = "e\u0301<e\u0301>";
  CHECK(make_tokenizer(tables)->encode(PromptText{text, {}}).size() == 4);
  tables.normalizer = "NFC";
  const auto tokenizer = make_tokenizer(tables);
  CHECK(tokenizer->encode(PromptText{text, {}}) == std::vector<int>{0xC3, 0xA9, marker});
  CHECK(tokenizer->encode("<e\u0301>") == std::vector<int>{'<', 0xC3, 0xA9, '>'});
}
