// Text out of a file, as a sentence quotes it.
#include <diecast/text.hpp>
#include <diecast/tokens/pre_tokenizer.hpp>

#include <catch2/catch.hpp>

#include <string>

using namespace diecast;

TEST_CASE("what a sentence quotes is one line that steers no terminal") {
  CHECK(in_quotes("gpt-2") == "\"gpt-2\"");
  CHECK(in_quotes("") == "\"\"");
  CHECK(in_quotes("a\"b\\c") == "\"a\\\"b\\\\c\"");
  CHECK(in_quotes("gpt\b\x1b[2J\x7f\n") == "\"gpt\\x08\\x1b[2J\\x7f\\x0a\"");
  CHECK(in_quotes("Grüße, \xe6\x97\xa5\xe6\x9c\xac") == "\"Grüße, \xe6\x97\xa5\xe6\x9c\xac\"");
  CHECK(in_quotes("\xc2\x9b" "2J") == "\"\\xc2\\x9b2J\"");  // U+009B begins a control sequence, as ESC [ does
  CHECK(in_quotes("\xc2\xa0") == "\"\xc2\xa0\"");           // U+00A0 does not
}

TEST_CASE("a long text is cut between two characters") {
  CHECK(in_quotes(std::string(121, 'a')) == "\"" + std::string(120, 'a') + "...\"");
  CHECK(in_quotes(std::string(120, 'a')) == "\"" + std::string(120, 'a') + "\"");
  CHECK(in_quotes(std::string(119, 'a') + "\xc3\xbc") == "\"" + std::string(119, 'a') + "\xc3\xbc\"");
  CHECK(in_quotes(std::string(119, 'a') + "\xc3\xbc" "b") == "\"" + std::string(119, 'a') + "\xc3\xbc...\"");
}

TEST_CASE("a pre-tokenizer's name may hold anything") {  // found by the fuzzer of engine files
  CHECK_THROWS_WITH(find_pre_tokenizer("gpt\b"), Catch::Contains("\"gpt\\x08\" is not known"));
}
