// GPT-2's alphabet: every byte has a printable stand-in, so that a vocabulary can be written as text. The 188 printable bytes of
// Latin-1 stand for themselves, the others for U+0100 and on, in order (bytes_to_unicode of GPT-2's encoder.py).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

struct Spelling {
  std::size_t end;    // where the first character outside the alphabet begins; the piece's size where there is none
  std::size_t bytes;  // how many were written
};

namespace detail {

// How many of the eight bytes from `text` on are, from the first on, printable ASCII, which stands for itself.
inline std::size_t plain_bytes(const char* text) {
  static_assert(std::endian::native == std::endian::little, "the first byte is taken for the lowest");
  std::uint64_t word;
  std::memcpy(&word, text, sizeof word);
  // The top bit of a byte: set where it was set, where 0x7F became 0x80, where less than 0x21 was borrowed. Carries spoil only what follows.
  constexpr std::uint64_t each = 0x0101010101010101;
  const std::uint64_t others = (word | (word + each) | (word - 0x21 * each)) & 0x80 * each;
  return static_cast<std::size_t>(std::countr_zero(others)) / 8;
}

// The byte that the character of two UTF-8 bytes stands for which begins at `at`; -1 where there is none. None has more.
inline int read_stand_in(std::string_view piece, std::size_t at) {
  const unsigned lead = static_cast<unsigned char>(piece[at]);
  if (lead < 0xC2 || at + 1 == piece.size()) return -1;
  const unsigned next = static_cast<unsigned char>(piece[at + 1]);
  const std::size_t code_point = (lead - 0xC0) << 6 | (next & 0x3F);
  return (next & 0xC0) == 0x80 && code_point < byte_of_stand_in.size() ? byte_of_stand_in[code_point] : -1;
}

}  // namespace detail

// Writes the bytes that a piece stands for, from `at` on, to `out`. Eight bytes behind the piece may be read; `out` has room for the piece
// and eight bytes more.
inline Spelling read_spelling(std::string_view piece, std::size_t at, char* out) {
  const char* const begin = out;
  while (true) {
    std::memcpy(out, piece.data() + at, 8);
    const std::size_t plain = (std::min)(detail::plain_bytes(piece.data() + at), piece.size() - at);
    at += plain;
    out += plain;
    if (at == piece.size()) break;
    if (plain == 8) continue;
    const int byte = detail::read_stand_in(piece, at);
    if (byte < 0) break;
    at += 2;  // one of ASCII was plain
    *out++ = static_cast<char>(byte);
  }
  return {at, static_cast<std::size_t>(out - begin)};
}

}  // namespace diecast
