// A JSON string literal of any bytes: what is not UTF-8 becomes U+FFFD, one for each maximal invalid part.
#pragma once

#include <string>
#include <string_view>

#include <diecast/text.hpp>
#include <diecast/tokens/utf8.hpp>

namespace diecast {

inline std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : replace_invalid_utf8(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      append_hex(out, byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace diecast
