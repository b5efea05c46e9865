// UTF-8 that may be broken: one code point at a time. What is not UTF-8 falls into maximal invalid parts, each of which
// a reader would replace by one U+FFFD (Unicode 16, section 3.9, "maximal subparts"; the rule of Python and of browsers).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <diecast/text.hpp>

namespace diecast {

enum class Utf8State : std::uint8_t {
  valid,
  invalid,    // no byte that follows could mend it
  incomplete  // the text ends inside a character that further bytes could complete
};

struct Utf8 {
  char32_t code_point;  // U+FFFD where it is not valid
  std::uint8_t length;  // bytes, 1 to 4
  Utf8State state;
};

// The character, or the maximal invalid part, that begins at `at` (which is less than text.size()).
constexpr Utf8 decode_utf8(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const unsigned lead = byte(at);
  if (lead < 0x80) return {static_cast<char32_t>(lead), 1, Utf8State::valid};
  if (lead < 0xC2 || lead > 0xF4) return {0xFFFD, 1, Utf8State::invalid};
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The second byte is narrowed so that no overlong form, no surrogate and nothing above U+10FFFF begins.
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  char32_t code_point = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (at + i == text.size()) return {0xFFFD, static_cast<std::uint8_t>(i), Utf8State::incomplete};
    const unsigned next = byte(at + i);
    if (next < (i == 1 ? low : 0x80u) || next > (i == 1 ? high : 0xBFu)) return {0xFFFD, static_cast<std::uint8_t>(i), Utf8State::invalid};
    code_point = code_point << 6 | (next & 0x3F);
  }
  return {code_point, static_cast<std::uint8_t>(length), Utf8State::valid};
}

// The text with each maximal invalid part replaced by U+FFFD: always valid UTF-8.
inline std::string replace_invalid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8 character = decode_utf8(text, at);
    if (character.state == Utf8State::valid) out.append(text.substr(at, character.length));
    else append_utf8(out, character.code_point);
    at += character.length;
  }
  return out;
}

}  // namespace diecast
