#include <catch2/catch.hpp>

#include <diecast/tokens/utf8.hpp>

#include "golden_file.hpp"

using namespace diecast;

namespace {

int replacements(const std::string& bytes) {
  int count = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const Utf8 character = decode_utf8(bytes, at);
    count += character.state != Utf8State::valid;
    at += character.length;
  }
  return count;
}

}  // namespace

TEST_CASE("K6: each maximal invalid part counts once") {
  CHECK(replacements("\xE2\x80") == 1);
  CHECK(replacements("\xF0\x9F") == 1);
  CHECK(replacements("\xFF\xFE") == 2);
  CHECK(replacements("\xC0\x80") == 2);
  CHECK(replacements("\xED\xA0\x80") == 3);
  CHECK(replacements("\x61\xF0\x9F\x98\x62") == 1);
  CHECK(replace_invalid_utf8("\x61\xF0\x9F\x98\x62") == "a\uFFFD"
                                                        "b");
}

TEST_CASE("random bytes are replaced as Python's decoder replaces them") {
  for (const auto& golden : tokens_test::golden_cases("invalid_utf8.json")) {
    std::string bytes;
    for (const int byte : golden.at("bytes").get<std::vector<int>>()) bytes.push_back(static_cast<char>(byte));
    CHECK(replace_invalid_utf8(bytes) == golden.at("text").get<std::string>());
  }
}

TEST_CASE("every code point goes to UTF-8 and back") {
  for (char32_t point = 0; point <= 0x10FFFF; ++point) {
    std::string text;
    append_utf8(text, point);
    const Utf8 character = decode_utf8(text, 0);
    if (point >= 0xD800 && point <= 0xDFFF) {
      if (character.state != Utf8State::invalid) FAIL(static_cast<unsigned>(point));
    } else if (character.state != Utf8State::valid || character.code_point != point || character.length != text.size()) {
      FAIL(static_cast<unsigned>(point));
    }
  }
}

TEST_CASE("a text that ends inside a character is incomplete only where more bytes could complete it") {
  CHECK(decode_utf8("\xF0\x9F\x98", 0).state == Utf8State::incomplete);
  CHECK(decode_utf8("\xE2", 0).state == Utf8State::incomplete);
  CHECK(decode_utf8("\xED\xA0", 0).state == Utf8State::invalid);
  CHECK(decode_utf8("\xF4\x90", 0).state == Utf8State::invalid);
  CHECK(decode_utf8("\xF5", 0).state == Utf8State::invalid);
}
