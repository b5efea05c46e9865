// What a vocabulary's rows are held to, whichever kind of tokenizer it has: texts and the ids that others made of them.
#pragma once

#include <catch2/catch.hpp>

#include <cstddef>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <diecast/tokens/detokenizer.hpp>
#include <diecast/tokens/tokenizer.hpp>

#include "tokens/large_files.hpp"

namespace tokens_test {

// The ids of the text, and the text again from the ids where nothing of it is lost.
inline void check_row(const diecast::Tokenizer& tokenizer, const std::string& text, const std::vector<int>& ids, bool comes_back = true) {
  INFO(text);
  CHECK(tokenizer.encode(text) == ids);
  if (comes_back) CHECK(decode(tokenizer, ids) == text);
}

// The rows beside a vocabulary of llama.cpp's: VOCABULARY.inp holds texts between marker lines, VOCABULARY.out the ids of each on a line.
inline void check_rows_beside(const diecast::Tokenizer& tokenizer, const std::filesystem::path& vocabulary) {
  const std::string texts = read_file(vocabulary.string() + ".inp");
  const std::string marker = "\n__ggml_vocab_test__\n";
  std::istringstream answers(read_file(vocabulary.string() + ".out"));
  std::string line;
  int rows = 0;
  for (std::size_t begin = 0, end; (end = texts.find(marker, begin)) != std::string::npos; begin = end + marker.size(), ++rows) {
    REQUIRE(std::getline(answers, line));
    std::istringstream numbers(line);
    std::vector<int> ids;
    for (int id; numbers >> id;) ids.push_back(id);
    check_row(tokenizer, texts.substr(begin, end - begin), ids);
  }
  CHECK(rows == 46);
}

}  // namespace tokens_test
