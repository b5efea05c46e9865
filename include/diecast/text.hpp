// Numbers and code points as text: the few lines that every part needs, once.
#pragma once

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

namespace diecast {

// The shortest decimal that reads back as the same value.
inline std::string text_of(double value) {
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, result.ptr};
}

// A byte as two hexadecimal digits.
inline void append_hex(std::string& out, unsigned char byte) {
  constexpr std::string_view digits = "0123456789abcdef";
  out += digits[byte >> 4];
  out += digits[byte & 15];
}

// Text out of a file as it may stand in a sentence: in quotes, control characters and quotes escaped, cut when long.
inline std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 120;
  std::string out = "\"";
  const auto escape = [&](char c) {
    out += "\\x";
    append_hex(out, static_cast<unsigned char>(c));
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (i >= longest && (byte & 0xC0) != 0x80) return out + "...\"";  // not within a character
    const bool is_c1 = byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) >= 0x80 && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (is_c1) {
      escape(text[i]);
      escape(text[++i]);
    } else if (byte < 0x20 || byte == 0x7f) {
      escape(text[i]);
    } else {
      if (text[i] == '"' || text[i] == '\\') out += '\\';
      out += text[i];
    }
  }
  return out + "\"";
}

// A code point up to U+10FFFF in UTF-8; a surrogate is written like any other.
inline void append_utf8(std::string& out, char32_t point) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(static_cast<unsigned char>(byte))); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | point >> 6);
    put(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    put(0xE0 | point >> 12);
    put(0x80 | (point >> 6 & 0x3F));
    put(0x80 | (point & 0x3F));
  } else {
    put(0xF0 | point >> 18);
    put(0x80 | (point >> 12 & 0x3F));
    put(0x80 | (point >> 6 & 0x3F));
    put(0x80 | (point & 0x3F));
  }
}

}  // namespace diecast
