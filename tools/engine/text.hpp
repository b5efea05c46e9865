// Output that several commands share.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace diecast::shell {

using Json = nlohmann::ordered_json;

// One line; bytes that are no UTF-8 become U+FFFD.
inline std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

// A text from a file or the command line on one line of a terminal: no control character in it breaks the line or moves the cursor.
inline std::string one_line(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) shown += {'\\', 'x', "0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
    else shown += c;
  }
  return shown;
}

// Writes all of it to standard output now; a closed pipe is an error, not a signal.
void put(std::string_view text);

}  // namespace diecast::shell
