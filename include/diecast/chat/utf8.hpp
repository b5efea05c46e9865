// Code points in UTF-8, as Python counts them: an index, a length, a slice of the template language means code points.
// A byte that is not valid UTF-8 counts as one character, so no text is out of reach. White space is Python's str.isspace().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <diecast/text.hpp>

namespace diecast::chat {

struct CodePoint {
  char32_t value;
  std::uint32_t length;  // in bytes, at least 1
};

// Invalid bytes come back as 0xDC00 + byte, a lone surrogate, which no valid text contains.
constexpr CodePoint decode_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto lead = byte(at);
  if (lead < 0x80) return {lead, 1};
  const std::uint32_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  const CodePoint invalid{static_cast<char32_t>(0xDC00 + lead), 1};
  if (lead < 0xC2 || lead > 0xF4 || at + length > text.size()) return invalid;
  char32_t value = static_cast<char32_t>(lead & (0xFF >> (length + 1)));
  for (std::uint32_t i = 1; i < length; ++i) {
    const auto next = byte(at + i);
    if ((next & 0xC0) != 0x80) return invalid;
    value = (value << 6) | static_cast<char32_t>(next & 0x3F);
  }
  const char32_t least = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  if (value < least || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return invalid;
  return {value, length};
}

// Where the character that ends before `at` begins.
constexpr std::size_t previous_start(std::string_view text, std::size_t at) {
  for (std::size_t back = 2; back <= 4 && back <= at; ++back) {
    if (decode_at(text, at - back).length == back) return at - back;
    if ((static_cast<unsigned char>(text[at - back]) & 0xC0) != 0x80) break;
  }
  return at - 1;
}

constexpr std::size_t count_code_points(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); at += decode_at(text, at).length) ++count;
  return count;
}

// An invalid byte goes back as it came.
inline void append_character(std::string& out, char32_t c) {
  if (c >= 0xDC80 && c <= 0xDCFF) out.push_back(static_cast<char>(static_cast<unsigned char>(c - 0xDC00)));
  else append_utf8(out, c);
}

constexpr bool is_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x1F);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

constexpr std::size_t skip_space(std::string_view text, std::size_t at, std::size_t end) {
  while (at < end) {
    const CodePoint c = decode_at(text, at);
    if (!is_space(c.value)) break;
    at += c.length;
  }
  return at;
}

constexpr std::size_t skip_space_back(std::string_view text, std::size_t begin, std::size_t at) {
  while (at > begin) {
    const std::size_t before = previous_start(text, at);
    if (before < begin || !is_space(decode_at(text, before).value)) break;
    at = before;
  }
  return at;
}

}  // namespace diecast::chat
