// A model by its path, whatever it is: a GGUF file, or a folder with config.json, safetensors and tokenizer files.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include <diecast/files/gguf_model.hpp>
#include <diecast/files/hf_folder.hpp>
#include <diecast/files/model.hpp>

namespace diecast {

inline Model open_model(const std::string& path, const AcceptModel& accept = {}) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) throw Error("there is no model file or folder " + path);
  return std::filesystem::is_directory(path, error) ? read_folder(path, accept) : read_gguf(path, accept);
}

}  // namespace diecast
