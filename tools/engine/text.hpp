// Output that several commands share.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace diecast::shell {

using Json = nlohmann::ordered_json;

// One line; bytes that are no UTF-8 become U+FFFD.
inline std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

// Writes all of it to standard output now; a closed pipe is an error, not a signal.
void put(std::string_view text);

}  // namespace diecast::shell
