// GPT-2's alphabet: every byte has a printable stand-in, so that a vocabulary can be written as text. The 188 printable bytes of
// Latin-1 stand for themselves, the others for U+0100 and on, in order (bytes_to_unicode of GPT-2's encoder.py).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <diecast/tokens/utf8.hpp>

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

// The bytes that a piece stands for, or nothing where it has a character outside the alphabet.
inline std::optional<std::string> bytes_of_piece(std::string_view piece) {
  std::string bytes;
  for (std::size_t at = 0; at < piece.size();) {
    const Utf8 character = decode_utf8(piece, at);
    if (character.state != Utf8State::valid || character.code_point >= byte_of_stand_in.size()) return std::nullopt;
    const std::int16_t byte = byte_of_stand_in[character.code_point];
    if (byte < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(static_cast<unsigned char>(byte)));
    at += character.length;
  }
  return bytes;
}

}  // namespace diecast
