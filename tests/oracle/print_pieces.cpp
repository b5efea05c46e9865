// Prints how a pre-tokenizer splits texts, for fuzz_pretokenizers.py: one text a line in hexadecimal, answered by the lengths of
// its pieces in bytes.
#include <cstdio>
#include <iostream>
#include <string>

#include <diecast/tokens/pre_tokenizer.hpp>

int main(int count, char** arguments) {
  if (count != 2) return std::fputs("usage: print_pieces PRE_TOKENIZER\n", stderr), 2;
  try {
    const diecast::PreTokenizer pre_tokenizer = diecast::find_pre_tokenizer(arguments[1]);
    std::ios::sync_with_stdio(false);
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    for (std::string line, text; std::getline(std::cin, line);) {
      text.clear();
      for (std::size_t i = 0; i + 1 < line.size(); i += 2) text.push_back(static_cast<char>(digit(line[i]) * 16 + digit(line[i + 1])));
      pre_tokenizer.split(text, [](std::string_view piece) { std::cout << piece.size() << ' '; });
      std::cout << '\n';
    }
  } catch (const diecast::Error& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 2;
  }
}
