// Falcon's four steps and BLOOM's one. Falcon looks for digits after its bytes were spelled as letters (GPT-2's byte alphabet), where
// the bytes B2, B3, B9, BC, BD and BE are the numbers that Latin-1 has there: so these two steps go by bytes and cut characters.
#pragma once

#include <cstddef>
#include <string_view>

#include <diecast/tokens/scan.hpp>

namespace diecast::scan {

// What became punctuation after Unicode 8, whose tables the tokenizers package asks in its Punctuation step.
inline constexpr CharacterRange newer_punctuation[] = {
    {0x61D, 0x61D}, {0x9FD, 0x9FD}, {0xA76, 0xA76}, {0xC77, 0xC77}, {0xC84, 0xC84}, {0x1B4E, 0x1B4F}, {0x1B7D, 0x1B7F}, {0x2E43, 0x2E4F},
    {0x2E52, 0x2E5D}, {0x10D6E, 0x10D6E}, {0x10EAD, 0x10EAD}, {0x10F55, 0x10F59}, {0x10F86, 0x10F89}, {0x113D4, 0x113D5},
    {0x113D7, 0x113D8}, {0x1144B, 0x1144F}, {0x1145A, 0x1145B}, {0x1145D, 0x1145D}, {0x11660, 0x1166C}, {0x116B9, 0x116B9},
    {0x1183B, 0x1183B}, {0x11944, 0x11946}, {0x119E2, 0x119E2}, {0x11A3F, 0x11A46}, {0x11A9A, 0x11A9C}, {0x11A9E, 0x11AA2},
    {0x11B00, 0x11B09}, {0x11BE1, 0x11BE1}, {0x11C41, 0x11C45}, {0x11C70, 0x11C71}, {0x11EF7, 0x11EF8}, {0x11F43, 0x11F4F},
    {0x11FFF, 0x11FFF}, {0x12FF1, 0x12FF2}, {0x16D6D, 0x16D6F}, {0x16E97, 0x16E9A}, {0x16FE2, 0x16FE2}, {0x1E5FF, 0x1E5FF},
    {0x1E95E, 0x1E95F},
};

// Punctuation, Contiguous: runs of it are pieces. Two of Unicode 8 are a symbol and a mark today.
constexpr bool is_unicode8_punctuation(const Character& c) {
  return is_ascii_punctuation(c) || c.point == 0x166D || c.point == 0x111C9 ||
         (unicode::is_punctuation(c.category) && !is_within(newer_punctuation, c));
}

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
