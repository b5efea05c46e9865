// The model tool behind ./cast --inspect, --tokenize and --render.
#pragma once

#include <string>

namespace diecast::tool {

// What a model file holds: spec, tensors, formats, bytes; a file that no engine could run is shown as far as it can be read.
void inspect(const std::string& path);

}  // namespace diecast::tool
