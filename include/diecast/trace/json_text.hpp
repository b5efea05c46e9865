// A JSON string literal of any bytes: what is not UTF-8 becomes U+FFFD, one for each maximal invalid part (Unicode 15, section 3.9, table 3-7).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace diecast {

namespace detail {

// Bytes of the character that begins the text, or, negative, of the invalid part that does.
inline int utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const int length = lead >= 0xC2 && lead < 0xE0 ? 2 : lead >= 0xE0 && lead < 0xF0 ? 3 : lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
  if (length == 0) return -1;
  unsigned least = 0x80, most = 0xBF;  // of the second byte: no overlong form, no surrogate, nothing above U+10FFFF
  if (lead == 0xE0) least = 0xA0;
  if (lead == 0xED) most = 0x9F;
  if (lead == 0xF0) least = 0x90;
  if (lead == 0xF4) most = 0x8F;
  for (int i = 1; i < length; ++i) {
    const unsigned next = byte(static_cast<std::size_t>(i));
    if (next < least || next > most) return -i;
    least = 0x80;
    most = 0xBF;
  }
  return length;
}

}  // namespace detail

inline std::string json_text(std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out = "\"";
  while (!text.empty()) {
    const int length = detail::utf8_length(text);
    const auto bytes = static_cast<std::size_t>(length < 0 ? -length : length);
    const char first = text.front();
    if (length < 0) {
      out += "\xEF\xBF\xBD";
    } else if (first == '"' || first == '\\') {
      out += '\\';
      out += first;
    } else if (static_cast<unsigned char>(first) < 0x20) {
      out += "\\u00";
      out += hex[static_cast<unsigned char>(first) / 16];
      out += hex[static_cast<unsigned char>(first) % 16];
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return out + '"';
}

}  // namespace diecast
