// The text of a config header: what a person would write in configs/ about a model, and the identity of its file.
// Text of the model file enters as escaped literals only (literals.hpp); nothing of it stands in a comment or names anything.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <diecast/chat/chat_template.hpp>
#include <diecast/files/compiled.hpp>
#include <diecast/files/format.hpp>
#include <diecast/files/model.hpp>
#include <diecast/identity/identity.hpp>

#include "literals.hpp"
#include "write_spec.hpp"

namespace diecast::cast {

constexpr std::size_t largest_template = 1 << 20;

struct ConfigFacts {
  std::string name;                  // of the engine: [a-z0-9._-]
  std::string identifier;            // of the struct and its file
  Spec spec{};
  std::vector<Format> formats;
  const Model* model = nullptr;      // absent: spec and formats are all there is
  std::optional<Identity> identity{};
};

namespace writing {

inline std::string format_name(Format format) {
  std::string name(layout(format).name);
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return "diecast::Format::" + name;
}

inline std::string member(std::string_view type, std::string_view name, const std::string& value) {
  return "  static constexpr " + std::string(type) + ' ' + std::string(name) + value + ";\n";
}

// As many as fit on a line.
inline std::string list(const std::vector<std::string>& items, std::size_t column) {
  std::string one;
  for (const std::string& item : items) one += (one.empty() ? "" : ", ") + item;
  if (column + one.size() + 3 <= line_width) return '{' + one + '}';
  std::string out = "{", line = "\n     ";
  for (const std::string& item : items) {
    if (line.size() + item.size() + 2 > line_width) {
      out += line;
      line = "\n     ";
    }
    line += ' ' + item + ',';
  }
  line.back() = '}';
  return out + line;
}

inline std::string spec_text(const Spec& spec) {
  const Written top = written(spec);
  std::string out = "{\n";
  for (const Written& field : top.fields) out += "      " + field.text(6, 1) + ",\n";
  return out + "  }";
}

// A std::string_view's initialiser; one with a NUL says its length.
inline std::string view(std::string_view text) {
  if (text.find('\0') == text.npos) return literal(text);
  return "{" + literal(text) + ", " + std::to_string(text.size()) + "}";
}

inline std::string tokenizer_text(const TokenizerTables& tables) {
  const bool bpe = tables.family == TokenizerTables::Family::byte_level_bpe;
  std::string out = std::string("{.family = diecast::TokenizerTables::Family::") + (bpe ? "byte_level_bpe" : "sentencepiece");
  if (!tables.pre_tokenizer.empty()) out += ", .pre_tokenizer = " + view(tables.pre_tokenizer);
  if (!tables.normalizer.empty()) out += ", .normalizer = " + view(tables.normalizer);
  return out + '}';
}

inline std::string generation_text(const GenerationDefaults& defaults) {
  Written part = written(compiled_generation(defaults));
  part.open = "{";
  return part.text(2 + std::string_view("static constexpr diecast::CompiledGeneration generation").size(), 1);
}

inline std::string identity_text(const Identity& identity) {
  std::string out = "{\n";
  const auto line = [&out](std::string_view key, const std::string& digest) { out += "      ." + std::string(key) + " = " + literal(digest) + ",\n"; };
  line("weights", identity.weights);
  line("tokenizer", identity.tokenizer);
  line("chat_template", identity.chat_template);
  line("generation", identity.generation);
  line("whole", identity.whole);
  return out + "  }";
}

// What the model file says beside its spec.
inline std::string facts_of(const Model& model) {
  std::string out = member("diecast::CompiledTokenizer", "tokenizer", tokenizer_text(model.tokenizer));
  if (model.chat_template) {
    if (model.chat_template->size() > largest_template)
      throw Error("the chat template has " + std::to_string(model.chat_template->size()) + " bytes; a config holds at most " + std::to_string(largest_template));
    out += "  // Its lines, each a literal. The compiler parses it.\n";
    out += member("char", "chat_template[]", " =" + literal_lines(*model.chat_template, "      "));
  }
  out += member("diecast::CompiledGeneration", "generation", generation_text(model.generation));
  if (!model.generation.eos.empty()) {
    std::vector<std::string> ids;
    for (const int id : model.generation.eos) ids.push_back(std::to_string(id));
    out += member("int", "end_ids[]", " = " + list(ids, 37));
  }
  return out;
}

}  // namespace writing

inline std::string config_text(const ConfigFacts& facts) {
  using namespace writing;
  if (!is_identifier(facts.identifier)) throw Error("a config's identifier is made of a-z, 0-9 and _, begins with a letter and is no C++ keyword", Blame::program);
  std::vector<Format> formats = facts.formats;
  std::sort(formats.begin(), formats.end());
  formats.erase(std::unique(formats.begin(), formats.end()), formats.end());
  std::vector<std::string> names;
  for (const Format format : formats) names.push_back(format_name(format));
  // clang knows a longest literal that every compiler must take; g++ and clang both take longer ones.
  const bool overlong = facts.model && ((facts.model->chat_template && facts.model->chat_template->size() > 65000) || facts.model->name.size() > 65000);

  std::string out = facts.model ? "// Written by ./cast from a model file: what the model is, and the identity of its file.\n"
                                : "// Written by ./cast from a config.json: what the model is.\n";
  out += "#pragma once\n\n#include <diecast/diecast.hpp>\n\n";
  if (overlong) out += "#pragma GCC diagnostic push\n#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n\n";
  out += "namespace configs {\n\nstruct " + facts.identifier + " {\n";
  out += member("char", "name[]", " = " + literal(facts.name));
  if (facts.model && !facts.model->name.empty() && facts.model->name != facts.name) out += member("char", "model_name[]", " = " + literal(facts.model->name));
  out += member("diecast::Spec", "spec", spec_text(facts.spec));
  out += member("diecast::Format", "formats[]", " = " + list(names, 46));
  if (facts.model) out += facts_of(*facts.model);
  if (facts.identity) out += member("diecast::CompiledIdentity", "identity", identity_text(*facts.identity));
  out += "};\n\n}  // namespace configs\n";
  if (overlong) out += "\n#pragma GCC diagnostic pop\n";
  return out;
}

}  // namespace diecast::cast
