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

namespace detail {
template <class = void>  // for <diecast/compiled_hf.hpp>, as in chat/chat_template.hpp
Model open_model(const std::string& path, const AcceptModel& accept) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) throw Error("there is no model file or folder " + path);
  return std::filesystem::is_directory(path, error) ? read_folder(path, accept) : read_gguf(path, accept);
}
}  // namespace detail

inline Model open_model(const std::string& path, const AcceptModel& accept = {}) { return detail::open_model(path, accept); }

}  // namespace diecast
