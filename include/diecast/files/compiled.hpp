// What was compiled into an engine, and the refusal of any file that is not that model: every differing field with both values,
// formats outside the config's set by name, before anything of the weights' size is allocated; then what else the config says.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <diecast/chat/compiled_template.hpp>
#include <diecast/chat/node.hpp>
#include <diecast/error.hpp>
#include <diecast/files/format.hpp>
#include <diecast/files/model.hpp>
#include <diecast/spec/check.hpp>
#include <diecast/spec/compare.hpp>
#include <diecast/spec/spec.hpp>
#include <diecast/text.hpp>

namespace diecast {

// A config may say these, too; what it does not say is not compared.
struct CompiledTokenizer {
  TokenizerTables::Family family{};
  std::string_view pre_tokenizer{};  // by its GGUF name
  std::string_view normalizer{};
};
struct CompiledGeneration {  // GenerationDefaults without the list of ids
  std::optional<bool> do_sample{};
  std::optional<double> temperature{}, top_p{}, min_p{}, repetition_penalty{};
  std::optional<int> top_k{}, max_new_tokens{};
  constexpr bool operator==(const CompiledGeneration&) const = default;
};
struct CompiledIdentity {  // SHA-256 as 64 hexadecimal digits (identity/identity.hpp)
  std::string_view weights{}, tokenizer{}, chat_template{}, generation{}, whole{};
};

namespace detail {
template <> struct Called<CompiledGeneration> { static constexpr std::string_view name = "CompiledGeneration"; };
}  // namespace detail

}  // namespace diecast

BOOST_HANA_ADAPT_STRUCT(diecast::CompiledGeneration, do_sample, temperature, top_p, min_p, repetition_penalty, top_k, max_new_tokens);

namespace diecast {

struct Compiled {
  std::string_view name;
  std::optional<Spec> spec;         // absent: any possible model is taken
  std::span<const Format> formats;  // accepted; only with a spec
  std::optional<CompiledTokenizer> tokenizer{};
  std::optional<std::string_view> chat_template{};
  std::optional<chat::Tree> parsed_template{};
  std::optional<CompiledGeneration> generation{};
  std::span<const int> end_ids{};  // only with generation
  std::optional<CompiledIdentity> identity{};
};

// Compilers take only so many steps in a constant (clang 2^20: a template of 27 kB). A longer template is parsed when the engine starts.
inline constexpr std::size_t longest_compiled_template = 24 * 1024;

template <class Config>
Compiled compiled() {
  static_assert(possible<Config>);
  Compiled result{Config::name, Config::spec, Config::formats};
  if constexpr (requires { Config::tokenizer; }) result.tokenizer = Config::tokenizer;
  if constexpr (requires { Config::chat_template; }) {
    result.chat_template = std::string_view(Config::chat_template, sizeof(Config::chat_template) - 1);
    if constexpr (sizeof(Config::chat_template) <= longest_compiled_template) result.parsed_template = chat::CompiledTemplate<Config::chat_template>::tree();
  }
  if constexpr (requires { Config::generation; }) result.generation = Config::generation;
  if constexpr (requires { Config::end_ids; }) result.end_ids = Config::end_ids;
  if constexpr (requires { Config::identity; }) result.identity = Config::identity;
  return result;
}

inline CompiledGeneration compiled_generation(const GenerationDefaults& file) {
  return {file.do_sample, file.temperature, file.top_p, file.min_p, file.repetition_penalty, file.top_k, file.max_new_tokens};
}

namespace detail {

inline void refuse_different(const Compiled& compiled, const std::vector<std::string>& different) {
  if (different.empty()) return;
  std::string sentence = "the file is not the model that this engine was compiled for (" + std::string(compiled.name) + ")";
  for (std::size_t i = 0; i < different.size(); ++i) sentence += (i == 0 ? ": " : "; ") + different[i];
  throw Error(sentence);
}

inline std::string listed(std::span<const int> ids) {
  std::string text;
  for (const int id : ids) text += (text.empty() ? "" : ", ") + std::to_string(id);
  return text.empty() ? "none" : text;
}

inline std::string_view family_name(TokenizerTables::Family family) {
  return family == TokenizerTables::Family::sentencepiece ? "SentencePiece" : "byte-level BPE";
}

inline std::string template_difference(std::string_view ours, const std::optional<std::string>& theirs) {
  if (!theirs) return "chat template: compiled " + std::to_string(ours.size()) + " bytes, file none";
  const auto at = std::mismatch(ours.begin(), ours.end(), theirs->begin(), theirs->end()).first - ours.begin();
  return "chat template: compiled " + std::to_string(ours.size()) + " bytes, file " + std::to_string(theirs->size()) + ", different from byte " +
         std::to_string(at) + " on";
}

}  // namespace detail

namespace detail {
template <class = void>  // for <diecast/compiled.hpp>, as in chat/chat_template.hpp
void check_compiled(const Compiled& compiled, const Spec& file, std::span<const Format> formats) {
  check_file(file);
  if (!compiled.spec) return;
  std::vector<std::string> different = differences(*compiled.spec, file);
  std::string accepted;
  for (const Format format : compiled.formats) accepted += (accepted.empty() ? "" : ", ") + std::string(layout(format).name);
  for (const Format format : formats)
    if (std::find(compiled.formats.begin(), compiled.formats.end(), format) == compiled.formats.end())
      different.push_back("formats: compiled " + accepted + ", file " + std::string(layout(format).name));
  refuse_different(compiled, different);
}
}  // namespace detail

inline void check_compiled(const Compiled& compiled, const Spec& file, std::span<const Format> formats) { detail::check_compiled(compiled, file, formats); }

namespace detail {
template <class = void>
std::vector<std::string> different_facts(const Compiled& compiled, const Model& file) {
  std::vector<std::string> different;
  const auto compare = [&different](std::string_view what, std::string_view ours, std::string_view theirs) {
    if (ours != theirs) different.push_back(std::string(what) + ": compiled " + in_quotes(ours) + ", file " + in_quotes(theirs));
  };
  if (compiled.tokenizer) {
    compare("tokenizer", family_name(compiled.tokenizer->family), family_name(file.tokenizer.family));
    compare("pre-tokenizer", compiled.tokenizer->pre_tokenizer, file.tokenizer.pre_tokenizer);
    compare("normalizer", compiled.tokenizer->normalizer, file.tokenizer.normalizer);
  }
  if (compiled.chat_template && (!file.chat_template || *compiled.chat_template != *file.chat_template))
    different.push_back(template_difference(*compiled.chat_template, file.chat_template));
  if (compiled.generation) {
    for (const std::string& one : differences(*compiled.generation, compiled_generation(file.generation))) different.push_back("generation defaults: " + one);
    if (!std::equal(compiled.end_ids.begin(), compiled.end_ids.end(), file.generation.eos.begin(), file.generation.eos.end()))
      different.push_back("generation defaults: end ids: compiled " + listed(compiled.end_ids) + ", file " + listed(file.generation.eos));
  }
  return different;
}
}  // namespace detail

// What the config says of the tokenizer, the template and the generation defaults, against the file.
inline std::vector<std::string> different_facts(const Compiled& compiled, const Model& file) { return detail::different_facts(compiled, file); }

inline void check_facts(const Compiled& compiled, const Model& file) { detail::refuse_different(compiled, different_facts(compiled, file)); }

}  // namespace diecast
