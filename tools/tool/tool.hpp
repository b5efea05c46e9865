// The model tool behind ./cast --inspect, --tokenize and --render.
#pragma once

#include <string>
#include <string_view>

namespace diecast::tool {

// Text of a file on one line of a terminal: nothing in it can break the line or move the cursor.
std::string shown(std::string_view text);

// What a model file holds: spec, tensors, formats, bytes; a file that no engine could run is shown as far as it can be read.
void inspect(const std::string& path);

}  // namespace diecast::tool
