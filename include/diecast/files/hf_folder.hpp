// A folder as Hugging Face's transformers writes it -> Model: config.json, safetensors, tokenizer files, chat template,
// generation_config.json. The weights stay in the mapped files where nothing has to move.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <diecast/error.hpp>
#include <diecast/files/folder.hpp>
#include <diecast/files/hf_config.hpp>
#include <diecast/files/hf_generation.hpp>
#include <diecast/files/hf_json.hpp>
#include <diecast/files/hf_tokenizer.hpp>
#include <diecast/files/hf_weights.hpp>
#include <diecast/files/model.hpp>
#include <diecast/files/safetensors.hpp>

namespace diecast {

namespace hf_detail {

inline std::optional<std::string> file_text(const Folder& folder, const std::string& file) {
  if (!folder.has(file)) return std::nullopt;
  return std::string(as_text(folder.open(file).bytes));
}

inline Json json_or_null(const Folder& folder, const std::string& file) { return folder.has(file) ? read_json(folder, file) : Json(); }

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

}  // namespace hf_detail

inline Model read_folder(const Folder& folder, const AcceptModel& accept = {}) {
  using namespace hf_detail;
  const std::string config_path = folder.where("config.json");
  const Json config = read_json(folder, "config.json");

  Model model;
  model.path = folder.where();
  model.name = folder.name();
  model.spec = hf_spec(config, config_path);
  model.architecture = hf_model_type(config, config_path);

  const HfTokenizerFiles files{.tokenizer = json_or_null(folder, "tokenizer.json"),
                               .config = json_or_null(folder, "tokenizer_config.json"),
                               .special_tokens = json_or_null(folder, "special_tokens_map.json"),
                               .sentencepiece = file_text(folder, "tokenizer.model")};
  model.tokenizer = hf_tokenizer(files, folder.where());
  // A file of its own wins, as in transformers.
  model.chat_template = file_text(folder, "chat_template.jinja");
  if (!model.chat_template) model.chat_template = template_of_config(files.config, folder.where("tokenizer_config.json"));

  // A model with parts keeps its language model's values in text_config, and some of them also at the top.
  std::vector<Fields> configs{Fields(config, config_path)};
  if (configs[0].find("text_config")) configs.push_back(configs[0].object("text_config"));
  for (const Fields& one : configs)
    if (!model.tokenizer.bos) model.tokenizer.bos = one.integer("bos_token_id", 0, model.spec.vocab - 1);
  model.generation = hf_generation(json_or_null(folder, "generation_config.json"), folder.where("generation_config.json"), configs, model.tokenizer.eos,
                                   model.spec.vocab);
  auto tensors = read_safetensors_folder(folder);
  if (accept) accept(model.spec, formats_of(tensors));
  model.weights = hf_weights(std::move(tensors), model.spec, model.architecture, folder.where());
  return model;
}
inline Model read_folder(const std::string& path, const AcceptModel& accept = {}) { return read_folder(Folder(path), accept); }

// The names of all files that read_folder may ask for and that are there: whoever takes a model along needs these and no others.
inline std::vector<std::string> files_of_folder(const Folder& folder) {
  std::vector<std::string> names;
  for (const char* name : {"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "tokenizer.model",
                           "chat_template.jinja"})
    if (folder.has(name)) names.emplace_back(name);
  const SafetensorsFiles weights = safetensors_files(folder);
  if (weights.indexed) names.emplace_back("model.safetensors.index.json");
  for (const auto& [file, tensors] : weights.promised) names.push_back(file);
  return names;
}

}  // namespace diecast
