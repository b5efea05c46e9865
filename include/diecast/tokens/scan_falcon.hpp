// Falcon's four steps and BLOOM's one. Falcon looks for digits after its bytes were spelled as letters (GPT-2's byte alphabet), where
// the bytes B2, B3, B9, BC, BD and BE are the numbers that Latin-1 has there: so these two steps go by bytes and cut characters.
#pragma once

#include <cstddef>
#include <string_view>

#include <diecast/tokens/scan.hpp>

namespace diecast::scan {

// Punctuation, Contiguous: runs of it are pieces.
constexpr bool is_any_punctuation(const Character& c) { return is_ascii_punctuation(c) || unicode::is_punctuation(c.category); }

constexpr bool is_digit_byte(std::string_view text, std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; }

// Digits in runs, over the byte alphabet.
constexpr std::size_t number_bytes(std::string_view text, std::size_t at) {
  const auto is_number_byte = [text](std::size_t index) {
    const auto byte = static_cast<unsigned char>(text[index]);
    return is_digit_byte(text, index) || byte == 0xB2 || byte == 0xB3 || byte == 0xB9 || (byte >= 0xBC && byte <= 0xBE);
  };
  const bool number = is_number_byte(at);
  while (at < text.size() && is_number_byte(at) == number) ++at;
  return at;
}

// [0-9][0-9][0-9], over the byte alphabet.
constexpr std::size_t digit_triples(std::string_view text, std::size_t at) {
  const auto is_triple = [text](std::size_t index) {
    return is_digit_byte(text, index) && is_digit_byte(text, index + 1) && is_digit_byte(text, index + 2);
  };
  if (is_triple(at)) return at + 3;
  do ++at;
  while (at < text.size() && !is_triple(at));
  return at;
}

inline constexpr std::u32string_view bloom_separators = U"(|).,!?\u2026\u3002\uFF0C\u3001\u0964\u06D4\u060C";

// BLOOM:  ?[^(\s|[.,!?…。，、।۔،])]+ , where the inner brackets are a class in the class, and ( | ) stand for themselves.
constexpr std::size_t bloom_word(std::string_view text, std::size_t at) {
  const std::size_t word = text[at] == ' ' ? at + 1 : at;
  const std::size_t end = run(text, word, [](const Character& c) {
    return c.kind != Class::space && bloom_separators.find(c.point) == std::u32string_view::npos;
  });
  return end > word ? end : at;
}

}  // namespace diecast::scan
