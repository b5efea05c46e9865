#include <catch2/catch.hpp>

#include <pthread.h>

#include <algorithm>
#include <string>
#include <vector>

#include <diecast/tokens/pre_tokenizer.hpp>

#include "golden_file.hpp"

using namespace diecast;
using Pieces = std::vector<std::string>;

namespace {

Pieces split(const std::string& name, std::string_view text) {
  Pieces pieces;
  find_pre_tokenizer(name).split(text, [&](std::string_view piece) { pieces.emplace_back(piece); });
  return pieces;
}

const std::string every_name[] = {"gpt-2",  "smollm",       "llama-bpe",      "qwen2",       "qwen35", "gpt-4o",
                                  "tekken", "deepseek-llm", "deepseek-coder", "deepseek-v3", "falcon", "bloom"};

}  // namespace

TEST_CASE("K1: a double newline before a letter") {
  CHECK(split("llama-bpe", "\n\nW") == Pieces{"\n\n", "W"});
  CHECK(split("qwen2", "\n\nW") == Pieces{"\n\n", "W"});
  CHECK(split("gpt-2", "\n\nW") == Pieces{"\n", "\n", "W"});
}

TEST_CASE("K2: digits and contractions") {
  CHECK(split("gpt-2", "12345") == Pieces{"12345"});
  CHECK(split("gpt-2", "I'VE") == Pieces{"I", "'", "VE"});
  CHECK(split("gpt-2", "(x") == Pieces{"(", "x"});
  CHECK(split("gpt-2", ".\n\n") == Pieces{".", "\n\n"});
  CHECK(split("gpt-2", "1½") == Pieces{"1½"});
  CHECK(split("llama-bpe", "12345") == Pieces{"123", "45"});
  CHECK(split("llama-bpe", "I'VE") == Pieces{"I", "'VE"});
  CHECK(split("llama-bpe", "(x") == Pieces{"(x"});
  CHECK(split("llama-bpe", ".\n\n") == Pieces{".\n\n"});
  CHECK(split("llama-bpe", "1½") == Pieces{"1½"});
  CHECK(split("qwen2", "12345") == Pieces{"1", "2", "3", "4", "5"});
  CHECK(split("qwen2", "I'VE") == Pieces{"I", "'VE"});
  CHECK(split("qwen2", "(x") == Pieces{"(x"});
  CHECK(split("qwen2", ".\n\n") == Pieces{".\n\n"});
  CHECK(split("qwen2", "1½") == Pieces{"1", "½"});
}

TEST_CASE("the pieces of real texts, by Python's regex") {
  for (const auto& golden : tokens_test::golden_cases("pieces.json")) {
    const auto text = golden.at("text").get<std::string>();
    for (const std::string name : {"gpt-2", "smollm", "llama-bpe", "qwen2"}) {
      std::vector<std::size_t> lengths;
      find_pre_tokenizer(name).split(text, [&](std::string_view piece) { lengths.push_back(piece.size()); });
      INFO(name << ": " << text);
      CHECK(lengths == golden.at(name).get<std::vector<std::size_t>>());
    }
  }
}

TEST_CASE("the pieces of hard texts, by the tokenizers package and Python's regex") {
  for (const auto& golden : tokens_test::golden_cases("more_pieces.json")) {
    const auto text = golden.at("text").get<std::string>();
    for (const std::string& name : every_name) {
      std::vector<std::size_t> lengths;
      find_pre_tokenizer(name).split(text, [&](std::string_view piece) { lengths.push_back(piece.size()); });
      INFO(name << ": " << text);
      CHECK(lengths == golden.at(name).get<std::vector<std::size_t>>());
    }
  }
}

TEST_CASE("a capital after a small letter begins a piece") {
  CHECK(split("gpt-4o", "HelloWorld'S XMLParser") == Pieces{"Hello", "World'S", " XMLParser"});
  CHECK(split("tekken", "HelloWorld'S") == Pieces{"Hello", "World", "'S"});
  CHECK(split("tekken", "123a/\n/b") == Pieces{"1", "2", "3", "a", "/\n/", "b"});
  CHECK(split("gpt-4o", "\u4E2DAB") == Pieces{"\u4E2D", "AB"});  // a letter without case ends the word where capitals only follow
  CHECK(split("gpt-4o", "\u4E2DABc") == Pieces{"\u4E2DABc"});
}

TEST_CASE("marks belong to words in Qwen 3.5") {
  CHECK(split("qwen35", " e\u0301a") == Pieces{" e\u0301a"});
  CHECK(split("qwen2", " e\u0301a") == Pieces{" e", "\u0301a"});
}

TEST_CASE("DeepSeek: letters of the file's own list, ideographs and kana apart, runs of three digits") {
  CHECK(split("deepseek-llm", " caf\u00E9 12\n\n") == Pieces{" caf", "\u00E9", " ", "1", "2", "\n", "\n"});
  CHECK(split("deepseek-coder", " caf\u00E9, x") == Pieces{" caf\u00E9", ",", " x"});
  CHECK(split("deepseek-v3", "a.def!!") == Pieces{"a", ".def", "!!"});
  CHECK(split("deepseek-v3", "\u4E2D\u3042a .def\n 12345") == Pieces{"\u4E2D\u3042", "a", " .", "def", "\n", " ", "123", "45"});
}

TEST_CASE("Falcon: punctuation first, then numbers of three digits, in bytes") {
  CHECK(split("falcon", "a,,b 1234567") == Pieces{"a", ",,", "b", " ", "123", "456", "7"});
  CHECK(split("falcon", "\u043C") == Pieces{"\xD0", "\xBC"});  // the byte BC is a number of Latin-1
}

TEST_CASE("BLOOM: words, and what lies between them in one piece") {
  CHECK(split("bloom", "ab1  (c|d), e") == Pieces{"ab1", "  (", "c", "|", "d", "),", " e"});
}

// SmolLM looks ahead within the text between two digits only (tokenizers: Sequence of Digits and ByteLevel).
TEST_CASE("a digit ends the white space before it") {
  CHECK(split("smollm", "a   1") == Pieces{"a", "   ", "1"});
  CHECK(split("gpt-2", "a   1") == Pieces{"a", "  ", " 1"});
  CHECK(split("smollm", " ½x") == Pieces{" ", "½", "x"});
}

TEST_CASE("the long s makes a contraction where case is ignored") {
  CHECK(split("llama-bpe", "a'\u017Fa") == Pieces{"a", "'\u017F", "a"});
  CHECK(split("gpt-2", "'\u017F") == Pieces{"'", "\u017F"});
}

TEST_CASE("bytes that are no UTF-8 stay in the pieces") {
  const std::string text = "a\xFF\xFE b\xE2\x80 \xF0\x9F\x98" "c\xC0";
  for (const std::string& name : every_name) {
    std::string joined;
    for (const std::string& piece : split(name, text)) {
      CHECK_FALSE(piece.empty());
      joined += piece;
    }
    CHECK(joined == text);
  }
}

TEST_CASE("K11: a million equal letters are one pre-token, within a 256 KiB stack, in linear time") {  // quadratic time would take hours
  struct Work {
    std::vector<std::size_t> longest;
    static void* run(void* data) {
      auto& work = *static_cast<Work*>(data);
      for (const std::string& name : every_name) {
        for (const std::size_t length : {std::size_t{10'000}, std::size_t{1'000'000}}) {
          for (const char letter : {'A', '\n', ' ', '!'}) {
            const std::string text(length, letter);
            std::size_t first = 0;
            find_pre_tokenizer(name).split(text, [&](std::string_view piece) { first = std::max(first, piece.size()); });
            if (letter != '\n' || name.starts_with("deepseek-v3") || !name.starts_with("deepseek")) work.longest.push_back(length - first);
          }
        }
      }
      return nullptr;
    }
  } work;
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, 256 * 1024) == 0);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, &attributes, Work::run, &work) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  REQUIRE(work.longest.size() == 12 * 8 - 4);  // deepseek-llm and deepseek-coder cut at each newline
  for (const std::size_t rest : work.longest) CHECK(rest == 0);
}

TEST_CASE("a pre-tokenizer that is not known is refused by its name") {
  CHECK_THROWS_WITH(find_pre_tokenizer("tekken-9"), Catch::Contains("\"tekken-9\"") && Catch::Contains("gpt-2, "));
  CHECK_THROWS_WITH(find_pre_tokenizer("default"), Catch::Contains("does not say which pre-tokenizer"));
  CHECK_THROWS_AS(find_pre_tokenizer(""), Error);
  for (const char* name : {"falcon3", "pixtral", "jais", "poro-chat", "kimi-k2", "gpt-neox"}) {
    CHECK_THROWS_WITH(find_pre_tokenizer(name), Catch::Contains(name));
  }
  CHECK(find_pre_tokenizer("llama3").name == "llama-bpe");
}
