// `info`: what this engine is: its spec, the model file, identity, instruction set and memory.
#include <optional>

#include <fmt/core.h>

#include <diecast/identity/identity.hpp>
#include <diecast/spec/json.hpp>

#include "load.hpp"
#include "text.hpp"
#include "waiting.hpp"

namespace diecast::shell {

namespace {

void print_tree(const Json& json, int indent) {
  for (const auto& [key, value] : json.items()) {
    if (key == "kind") continue;
    if (value.is_object()) {
      put(fmt::format("{:{}}{}: {}\n", "", indent, key, value.value("kind", "")));
      print_tree(value, indent + 2);
    } else {
      put(fmt::format("{:{}}{}: {}\n", "", indent, key, value.is_string() ? value.get<std::string>() : value.dump()));
    }
  }
}

}  // namespace

int info(const Compiled& compiled, const CommonOptions& common) {
  std::optional<Waiting> waiting("computing digests");
  const Opened opened = open_checked(compiled, common);
  const Model& model = opened.model;
  const Identity identity = opened.packed ? opened.identity : identity_of(model);
  waiting.reset();
  Json json;
  json["name"] = compiled.name;
  json["spec"] = Json::parse(to_json(model.spec));
  json["identity"] = identity.whole;
  json["digests"] = {{"weights", identity.weights},
                     {"tokenizer", identity.tokenizer},
                     {"chat_template", identity.chat_template},
                     {"generation", identity.generation}};
  json["model_file"] = model.path;
  json["isa"] = common.cpu.isa;
  json["memory_bytes"] = memory_bytes(common, opened);
  if (common.json) put(line_of(json));
  else print_tree(json, 0);
  return 0;
}

}  // namespace diecast::shell
