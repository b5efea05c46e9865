// A folder as Hugging Face's transformers writes it -> Model: config.json, safetensors, tokenizer files, chat template,
// generation_config.json. The weights stay in the mapped files where nothing has to move.
#pragma once

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <diecast/error.hpp>
#include <diecast/files/hf_config.hpp>
#include <diecast/files/hf_generation.hpp>
#include <diecast/files/hf_json.hpp>
#include <diecast/files/hf_tokenizer.hpp>
#include <diecast/files/hf_weights.hpp>
#include <diecast/files/mapping.hpp>
#include <diecast/files/model.hpp>
#include <diecast/files/safetensors.hpp>

namespace diecast {

namespace hf_detail {

inline std::optional<std::string> file_text(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  const auto file = Mapping::open(path.string());
  return std::string(as_text(file->bytes()));
}

inline Json json_or_null(const std::filesystem::path& path) { return std::filesystem::exists(path) ? read_json(path.string()) : Json(); }

// tokenizer_config.json's chat_template is a text, or a list of named ones of which "default" counts.
inline std::optional<std::string> template_of_config(const Json& tokenizer_config, const std::string& where) {
  if (tokenizer_config.is_null()) return std::nullopt;
  const Fields config(tokenizer_config, where);
  const Json* value = config.find("chat_template");
  if (!value) return std::nullopt;
  if (!value->is_array()) return config.text("chat_template");
  for (const Json& item : *value) {
    const Fields one(item, where + ": chat_template");
    one.need("name");
    one.need("template");
    if (one.text("name") == "default") return one.text("template");
  }
  throw Error(where + ": chat_template is a list of " + std::to_string(value->size()) + ", and none is named \"default\"");
}

// The formats of all tensors that could be weights; a dtype that could not is refused when it is needed.
inline std::vector<Format> formats_of(const std::vector<SafetensorsEntry>& tensors) {
  std::vector<Format> formats;
  for (const Format format : {Format::f32, Format::f16, Format::bf16})
    if (std::any_of(tensors.begin(), tensors.end(), [&](const SafetensorsEntry& one) { return one.dtype == layout(format).name; }))
      formats.push_back(format);
  return formats;
}

inline std::string folder_name(const std::filesystem::path& folder) {
  std::error_code error;
  auto whole = std::filesystem::canonical(folder, error);
  if (error) whole = folder;
  return whole.filename().string();
}

}  // namespace hf_detail

inline Model read_folder(const std::string& path, const AcceptModel& accept = {}) {
  using namespace hf_detail;
  const std::filesystem::path folder(path);
  if (!std::filesystem::is_directory(folder)) throw Error(path + " is not a folder");
  const std::string config_path = (folder / "config.json").string();
  const Json config = read_json(config_path);

  Model model;
  model.path = path;
  model.name = folder_name(folder);
  model.spec = hf_spec(config, config_path);
  model.architecture = hf_model_type(config, config_path);

  const HfTokenizerFiles files{.tokenizer = json_or_null(folder / "tokenizer.json"),
                               .config = json_or_null(folder / "tokenizer_config.json"),
                               .special_tokens = json_or_null(folder / "special_tokens_map.json"),
                               .sentencepiece = file_text(folder / "tokenizer.model")};
  model.tokenizer = hf_tokenizer(files, path);
  const std::string tokenizer_config_path = (folder / "tokenizer_config.json").string();
  // A file of its own wins, as in transformers.
  model.chat_template = file_text(folder / "chat_template.jinja");
  if (!model.chat_template) model.chat_template = template_of_config(files.config, tokenizer_config_path);

  // A model with parts keeps its language model's values in text_config, and some of them also at the top.
  std::vector<Fields> configs{Fields(config, config_path)};
  if (configs[0].find("text_config")) configs.push_back(configs[0].object("text_config"));
  for (const Fields& one : configs)
    if (!model.tokenizer.bos) model.tokenizer.bos = one.integer("bos_token_id", 0, model.spec.vocab - 1);
  const std::string generation_path = (folder / "generation_config.json").string();
  model.generation = hf_generation(json_or_null(generation_path), generation_path, configs, model.tokenizer.eos, model.spec.vocab);
  auto tensors = read_safetensors_folder(path);
  if (accept) accept(model.spec, formats_of(tensors));
  model.weights = hf_weights(std::move(tensors), model.spec, model.architecture, path);
  return model;
}

}  // namespace diecast
