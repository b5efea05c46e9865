// Pre-tokenizers: how a text falls into pieces that no token crosses. Each is a list of scanners (scan_*.hpp), which stand for the steps
// and regular expressions of the model's own tokenizer.json. They are known by the names that GGUF gives them; a name that is not here
// is refused, never guessed.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <diecast/error.hpp>
#include <diecast/text.hpp>
#include <diecast/tokens/scan.hpp>
#include <diecast/tokens/scan_deepseek.hpp>
#include <diecast/tokens/scan_falcon.hpp>
#include <diecast/tokens/scan_gpt.hpp>

namespace diecast {

using Scanner = std::size_t (*)(std::string_view text, std::size_t at);  // the end of the piece that begins at `at`

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
inline constexpr Scanner smollm_stages[] = {scan::isolate_run<scan::is_number, 1>, scan::gpt2};
inline constexpr Scanner llama3_stages[] = {scan::llama3<3>};
inline constexpr Scanner qwen2_stages[] = {scan::llama3<1>};
inline constexpr Scanner qwen35_stages[] = {scan::llama3<1, true>};
inline constexpr Scanner gpt4o_stages[] = {scan::cased<3, true>};
inline constexpr Scanner tekken_stages[] = {scan::cased<1, false>};
inline constexpr Scanner deepseek_llm_stages[] = {scan::isolate_run<scan::is_newline, 1>,
                                                  scan::isolate<scan::maybe_spaced<scan::is_deepseek_letter>>,
                                                  scan::isolate<scan::maybe_spaced<scan::is_deepseek_punctuation>>,
                                                  scan::trailing_spaces,
                                                  scan::isolate_run<scan::is_deepseek_ideograph>,
                                                  scan::isolate_run<scan::is_number, 1>};
inline constexpr Scanner deepseek_coder_stages[] = {scan::isolate_run<scan::is_newline, 1>,
                                                    scan::isolate<scan::maybe_spaced<scan::is_letter>>,
                                                    scan::isolate<scan::maybe_spaced<scan::is_unicode_punctuation>>,
                                                    scan::isolate_run<scan::is_deepseek_ideograph>,
                                                    scan::isolate_run<scan::is_number, 1>};
inline constexpr Scanner deepseek_v3_stages[] = {scan::isolate_run<scan::is_number, 3>,
                                                 scan::isolate_run<scan::is_deepseek3_ideograph>, scan::isolate<scan::deepseek3_word>};
inline constexpr Scanner falcon_stages[] = {scan::isolate_run<scan::is_unicode8_punctuation>, scan::gpt2, scan::number_bytes,
                                            scan::digit_triples};
inline constexpr Scanner bloom_stages[] = {scan::isolate<scan::bloom_word>};

struct NamedPreTokenizer {
  std::string_view name;
  PreTokenizer meaning;
};

inline constexpr NamedPreTokenizer pre_tokenizers[] = {
  {"gpt-2", {"gpt-2", gpt2_stages}},
  {"gpt2", {"gpt-2", gpt2_stages}},
  {"phi-2", {"gpt-2", gpt2_stages}},
  {"olmo", {"gpt-2", gpt2_stages}},
  {"mpt", {"gpt-2", gpt2_stages}},
  {"smollm", {"smollm", smollm_stages}},
  {"starcoder", {"smollm", smollm_stages}},
  {"refact", {"smollm", smollm_stages}},
  {"command-r", {"smollm", smollm_stages}},
  {"exaone", {"smollm", smollm_stages}},
  {"llama-bpe", {"llama-bpe", llama3_stages}},
  {"llama3", {"llama-bpe", llama3_stages}},
  {"llama-v3", {"llama-bpe", llama3_stages}},
  {"dbrx", {"llama-bpe", llama3_stages}},
  {"smaug-bpe", {"llama-bpe", llama3_stages}},
  {"glm4", {"llama-bpe", llama3_stages}},
  {"qwen2", {"qwen2", qwen2_stages}},
  {"deepseek-r1-qwen", {"qwen2", qwen2_stages}},
  {"stablelm2", {"qwen2", qwen2_stages}},
  {"qwen35", {"qwen35", qwen35_stages}},
  {"gpt-4o", {"gpt-4o", gpt4o_stages}},
  {"llama4", {"gpt-4o", gpt4o_stages}},
  {"tekken", {"tekken", tekken_stages}},
  {"deepseek-llm", {"deepseek-llm", deepseek_llm_stages}},
  {"deepseek-coder", {"deepseek-coder", deepseek_coder_stages}},
  {"deepseek-v3", {"deepseek-v3", deepseek_v3_stages}},
  {"falcon", {"falcon", falcon_stages}},
  {"bloom", {"bloom", bloom_stages}},
};

}  // namespace detail

inline PreTokenizer find_pre_tokenizer(std::string_view name) {
  for (const detail::NamedPreTokenizer& known : detail::pre_tokenizers) {
    if (known.name == name) return known.meaning;
  }
  if (name.empty() || name == "default") {
    throw Error("the file does not say which pre-tokenizer its byte-level BPE uses (" + in_quotes(name) + "), and guessing would change the ids");
  }
  std::string names;
  for (const detail::NamedPreTokenizer& known : detail::pre_tokenizers) names += (names.empty() ? "" : ", ") + std::string(known.name);
  throw Error("the pre-tokenizer " + in_quotes(name) + " is not known; known are " + names);
}

}  // namespace diecast
