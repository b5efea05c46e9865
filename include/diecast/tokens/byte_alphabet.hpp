// GPT-2's alphabet: every byte has a printable stand-in, so that a vocabulary can be written as text. The 188 printable bytes of
// Latin-1 stand for themselves, the others for U+0100 and on, in order (bytes_to_unicode of GPT-2's encoder.py).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace diecast {

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

inline constexpr auto byte_of_stand_in = [] {
  std::array<std::int16_t, 0x144> table{};  // -1: no byte
  for (std::int16_t& entry : table) entry = -1;
  std::size_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) table[stands_for_itself(byte) ? byte : next++] = static_cast<std::int16_t>(byte);
  return table;
}();

namespace detail {

// By the lead byte that a character began with (none, or C2 to C5: the alphabet needs no others) and the byte at hand: the byte that is
// meant, `lead` for a lead byte, -1 for what no character of the alphabet has.
inline constexpr std::int16_t lead = 0x100;
inline constexpr auto meaning_of_spelling = [] {
  std::array<std::array<std::int16_t, 256>, 5> table{};
  for (auto& row : table) row.fill(-1);
  for (std::size_t byte = 0; byte < 0x80; ++byte) table[0][byte] = byte_of_stand_in[byte];
  for (std::size_t first = 1; first < table.size(); ++first) {
    table[0][0xC1 + first] = lead;
    for (std::size_t byte = 0x80; byte < 0xC0; ++byte) {
      const std::size_t code_point = (first + 1) << 6 | (byte & 0x3F);
      if (code_point < byte_of_stand_in.size()) table[first][byte] = byte_of_stand_in[code_point];
    }
  }
  return table;
}();

}  // namespace detail

// Writes the bytes that a piece stands for to `out`, which has room for as many as the piece itself has, and moves `out` behind them.
// Goes from `at` to the first character outside the alphabet and returns where that is: piece.size() where there is none.
inline std::size_t read_spelling(std::string_view piece, std::size_t at, char*& out) {
  std::size_t first = 0;  // which lead byte waits for its second byte
  for (; at < piece.size(); ++at) {
    const std::size_t byte = static_cast<unsigned char>(piece[at]);
    const std::int16_t meaning = detail::meaning_of_spelling[first][byte];
    if (meaning < 0) break;
    *out = static_cast<char>(meaning);
    out += meaning != detail::lead;  // no branch: it would be guessed wrong at every second piece
    first = meaning == detail::lead ? byte - 0xC1 : 0;
  }
  return at - (first != 0);
}

}  // namespace diecast
