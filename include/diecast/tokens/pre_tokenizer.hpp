// Pre-tokenizers: how a text falls into pieces that no token crosses. Each model's regular expressions stand here as scanners; the
// expression is quoted above each. They are known by the names that GGUF gives them; a name that is not here is refused, never guessed.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <diecast/error.hpp>
#include <diecast/tokens/scan.hpp>

namespace diecast {

using Scanner = std::size_t (*)(std::string_view text, std::size_t at);  // the end of the piece that begins at `at`

namespace scan {

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
constexpr std::size_t gpt2(std::string_view text, std::size_t at) {
  if (const std::size_t end = contraction(text, at, false); end > at) return end;
  const Character first = look(text, at);
  const std::size_t body = first.point == U' ' ? at + 1 : at;
  const Class kind = look(text, body).kind;
  return kind == Class::space || kind == Class::end ? spaces(text, at) : run_of(text, body, kind);
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
template <std::size_t digits>
constexpr std::size_t llama3(std::string_view text, std::size_t at) {
  if (const std::size_t end = contraction(text, at, true); end > at) return end;
  const Character first = look(text, at);
  if (first.kind == Class::letter) return run_of(text, at, Class::letter);
  if (first.kind == Class::number) return run_of(text, at, Class::number, digits);
  const Character second = look(text, at + first.length);
  if (second.kind == Class::letter && !is_newline(first)) return run_of(text, at + first.length, Class::letter);
  if (first.kind == Class::other || (first.point == U' ' && second.kind == Class::other)) {
    return run(text, run_of(text, at + (first.kind == Class::other ? 0 : 1), Class::other), is_newline);
  }
  std::size_t after_newline = at;
  std::size_t end = at;
  for (Character c = first; c.kind == Class::space; c = look(text, end)) {
    end += c.length;
    if (is_newline(c)) after_newline = end;
  }
  return after_newline > at ? after_newline : spaces(text, at);
}

// Each digit alone, and what lies between: the step before GPT-2's expression in SmolLM, StarCoder, Command-R.
constexpr std::size_t digits_alone(std::string_view text, std::size_t at) {
  const std::size_t number = run_of(text, at, Class::number, 1);
  return number > at ? number : run(text, at, [](const Character& c) { return c.kind != Class::number; });
}

}  // namespace scan

// A list of scanners, each of which splits the pieces of the one before it.
struct PreTokenizer {
  std::string_view name;  // the first of the names that mean it
  std::span<const Scanner> stages;

  template <class Emit>
  constexpr void split(std::string_view text, Emit&& emit) const {
    split_by(stages, text, emit);
  }

 private:
  template <class Emit>
  static constexpr void split_by(std::span<const Scanner> scanners, std::string_view text, Emit& emit) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = scanners.front()(text, at);
      const std::string_view piece = text.substr(at, end - at);
      if (scanners.size() == 1) emit(piece);
      else split_by(scanners.subspan(1), piece, emit);
      at = end;
    }
  }
};

namespace detail {

inline constexpr Scanner gpt2_stages[] = {scan::gpt2};
inline constexpr Scanner smollm_stages[] = {scan::digits_alone, scan::gpt2};
inline constexpr Scanner llama3_stages[] = {scan::llama3<3>};
inline constexpr Scanner qwen2_stages[] = {scan::llama3<1>};

struct NamedPreTokenizer {
  std::string_view name;
  PreTokenizer meaning;
};

inline constexpr NamedPreTokenizer pre_tokenizers[] = {
  {"gpt-2", {"gpt-2", gpt2_stages}},
  {"gpt2", {"gpt-2", gpt2_stages}},
  {"phi-2", {"gpt-2", gpt2_stages}},
  {"olmo", {"gpt-2", gpt2_stages}},
  {"smollm", {"smollm", smollm_stages}},
  {"starcoder", {"smollm", smollm_stages}},
  {"refact", {"smollm", smollm_stages}},
  {"command-r", {"smollm", smollm_stages}},
  {"llama-bpe", {"llama-bpe", llama3_stages}},
  {"llama3", {"llama-bpe", llama3_stages}},
  {"llama-v3", {"llama-bpe", llama3_stages}},
  {"dbrx", {"llama-bpe", llama3_stages}},
  {"smaug-bpe", {"llama-bpe", llama3_stages}},
  {"qwen2", {"qwen2", qwen2_stages}},
  {"deepseek-r1-qwen", {"qwen2", qwen2_stages}},
  {"stablelm2", {"qwen2", qwen2_stages}},
};

}  // namespace detail

inline PreTokenizer find_pre_tokenizer(std::string_view name) {
  for (const detail::NamedPreTokenizer& known : detail::pre_tokenizers) {
    if (known.name == name) return known.meaning;
  }
  if (name.empty() || name == "default") {
    throw Error("the file does not say which pre-tokenizer its byte-level BPE uses (\"" + std::string(name) + "\"), and guessing would change the ids");
  }
  std::string names;
  for (const detail::NamedPreTokenizer& known : detail::pre_tokenizers) names += (names.empty() ? "" : ", ") + std::string(known.name);
  throw Error("the pre-tokenizer \"" + std::string(name) + "\" is not known; known are " + names);
}

}  // namespace diecast
