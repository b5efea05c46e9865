// The model tool behind ./cast: --inspect, --tokenize, --render, --embed, and the configs of models that nobody wrote one for.
#pragma once

#include <string>
#include <string_view>

namespace diecast::tool {

// Text of a file on one line of a terminal: nothing in it can break the line or move the cursor.
std::string shown(std::string_view text);

// What a model file holds: spec, tensors, formats, bytes; a file that no engine could run is shown as far as it can be read.
void inspect(const std::string& path);

struct ConfigOptions {
  std::string model, name, identifier, output;
};

// Writes the model's config header; an Error where no engine could run it.
void config(const ConfigOptions&);

// A copy of the program `engine` with `model`, a GGUF file or a folder, at its end.
void embed(const std::string& engine, const std::string& model, const std::string& output);

}  // namespace diecast::tool
