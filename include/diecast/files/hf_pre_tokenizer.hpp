// The pre-tokenizer of a tokenizer.json by its GGUF name. It is recognised by exactly what the file spells out, its regular
// expressions letter by letter; what differs in anything is refused by naming it, never guessed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <diecast/error.hpp>
#include <diecast/files/hf_json.hpp>

namespace diecast {

namespace hf_detail {

struct KnownSplit {
  std::string_view regex;
  std::string_view name;
};

// The regexes of tokenizer.json files, as their models publish them.
inline constexpr KnownSplit known_splits[] = {
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", "gpt-2"},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)", "llama-bpe"},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)", "qwen2"}};

// A ByteLevel step; says whether it also splits by GPT-2's own regex.
inline bool byte_level_splits(const Fields& step) {
  if (step.flag("add_prefix_space", true)) throw Error(step.where() + ": ByteLevel with add_prefix_space true is not supported");
  return step.flag("use_regex", true);
}

inline std::string_view split_name(const Fields& step) {
  const Fields pattern = step.object("pattern");
  const auto regex = pattern.text("Regex");
  if (!regex)
    throw Error(step.where() + ": a Split by a fixed text, " + shown(pattern.find("String") ? *pattern.find("String") : Json()) +
                ", is not supported");
  if (step.text("behavior") != "Isolated" || step.flag("invert", false))
    throw Error(step.where() + ": a Split with behavior " + in_quotes(step.text("behavior").value_or("")) + " and invert " +
                (step.flag("invert", false) ? "true" : "false") + " is not supported; its regex is " + in_quotes(*regex));
  for (const KnownSplit& known : known_splits)
    if (*regex == known.regex) return known.name;
  throw Error(step.where() + ": the pre-tokenizer's regex " + in_quotes(*regex) + " is not known");
}

}  // namespace hf_detail

// `value`: "pre_tokenizer" of a tokenizer.json whose model is a byte-level BPE.
inline std::string hf_pre_tokenizer(const Json& value, const std::string& where) {
  const Fields whole(value, where);
  whole.need("type");
  std::vector<Fields> steps;
  if (whole.text("type") == "Sequence") {
    const Json& list = whole.need("pretokenizers");
    if (!list.is_array()) throw Error(where + ": pretokenizers is " + shown(list) + ", and must be a list");
    for (const Json& step : list) steps.emplace_back(step, where + ": step " + std::to_string(steps.size()));
  } else {
    steps.push_back(whole);
  }

  std::vector<std::string> types;
  for (const Fields& step : steps) {
    step.need("type");
    types.push_back(*step.text("type"));
  }
  if (types == std::vector<std::string>{"ByteLevel"} && hf_detail::byte_level_splits(steps[0])) return "gpt-2";
  if (types == std::vector<std::string>{"Digits", "ByteLevel"} && steps[0].flag("individual_digits", false) &&
      hf_detail::byte_level_splits(steps[1]))
    return "smollm";
  if (types == std::vector<std::string>{"Split", "ByteLevel"}) {
    const auto name = hf_detail::split_name(steps[0]);
    if (!hf_detail::byte_level_splits(steps[1])) return std::string(name);
  }

  std::string spelled;  // the steps, with the regex that makes the difference
  for (std::size_t i = 0; i < steps.size(); ++i) {
    spelled += (i > 0 ? ", " : "") + types[i];
    if (const Json* pattern = steps[i].find("pattern"); pattern && pattern->is_object() && pattern->contains("Regex"))
      spelled += " " + shown((*pattern)["Regex"]);
    if (types[i] == "ByteLevel") spelled += steps[i].flag("use_regex", true) ? " with its regex" : " without its regex";
    if (types[i] == "Digits") spelled += steps[i].flag("individual_digits", false) ? " one by one" : " in runs";
  }
  throw Error(where + ": the pre-tokenizer made of " + (spelled.empty() ? "nothing" : spelled) + " is not known");
}

// "", "NFC" or "NFKC".
inline std::string hf_normalizer(const Json& value, const std::string& where) {
  if (value.is_null()) return "";
  const Fields whole(value, where);
  whole.need("type");
  const std::string type = *whole.text("type");
  if (type == "NFC" || type == "NFKC") return type;
  if (type == "Sequence") {
    const Json& list = whole.need("normalizers");
    if (!list.is_array()) throw Error(where + ": normalizers is " + shown(list) + ", and must be a list");
    if (list.empty()) return "";
    if (list.size() == 1) return hf_normalizer(list[0], where);
  }
  throw Error(where + ": the normalizer " + in_quotes(type) + " is not supported; supported are NFC and NFKC");
}

}  // namespace diecast
