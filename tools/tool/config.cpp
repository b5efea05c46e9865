// `config`: a model file or folder becomes its config header. What no engine could run is refused here, before anything is compiled.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <diecast/files/open.hpp>
#include <diecast/tokens/sentencepiece.hpp>

#include "../cast/config_writer.hpp"
#include "tool.hpp"

namespace diecast::tool {

namespace {

void put(const std::string& text, const std::string& path) {
  if (path.empty()) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) throw Error("the config cannot be written", Blame::program);
    return;
  }
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw Error("the config cannot be written to " + path);
}

bool is_config_json(const std::string& path) { return path.ends_with(".json") && std::filesystem::is_regular_file(path); }

std::string text_of(const ConfigOptions& options) {
  if (options.name.empty() || options.name.size() > 100 || options.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._-") != std::string::npos)
    throw Error("an engine's name is made of a-z, 0-9, '.', '_' and '-', and has at most 100 of them");
  cast::ConfigFacts facts;
  facts.name = options.name;
  facts.identifier = options.identifier.empty() ? cast::identifier_of(options.name) : options.identifier;
  if (is_config_json(options.model)) {
    facts.spec = hf_spec(read_json(options.model), options.model);
    facts.formats = {Format::f32, Format::f16, Format::bf16};  // all that a folder's weights may be
    return cast::config_text(facts);
  }
  const Model model = open_model(options.model, [&](const Spec&, std::span<const Format> formats) { facts.formats.assign(formats.begin(), formats.end()); });
  if (model.chat_template) const ChatTemplate parsed(*model.chat_template);
  make_any_tokenizer(model.tokenizer);
  facts.spec = model.spec;
  facts.model = &model;
  facts.identity = identity_of(model);
  return cast::config_text(facts);
}

}  // namespace

void config(const ConfigOptions& options) { put(text_of(options), options.output); }

}  // namespace diecast::tool
