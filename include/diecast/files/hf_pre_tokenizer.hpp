// The pre-tokenizer of a tokenizer.json by its GGUF name. It is recognised by exactly what the file spells out, its regular
// expressions letter by letter; what differs in anything is refused by naming it, never guessed.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <diecast/error.hpp>
#include <diecast/files/hf_json.hpp>

namespace diecast {

namespace hf_detail {

// The regexes of tokenizer.json files, as their models publish them. The first six leave nothing of a text unmatched.
inline constexpr std::string_view gpt2_regex = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view llama3_regex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view qwen2_regex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view qwen35_regex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view gpt4o_regex =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view tekken_regex =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// Letters that look alike are written by their numbers.
inline constexpr std::string_view deepseek_letters_regex =
    "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\u1F7Dᾀ-ᾴ"
    "ᾶ-ᾼ\u1FBEῂ-ῄῆ-ῌῐ-\u1FD3ῖ-\u1FDBῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212A-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ"
    "𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+";
inline constexpr std::string_view deepseek_punctuation_regex = "\\s?[!-/:-~！-／：-～‘-‟\u3000-。]+";
inline constexpr std::string_view deepseek_ideographs_regex = "[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+";
inline constexpr std::string_view deepseek3_regex =
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*"
    "|\\s*[\r\n]+|\\s+(?!\\S)|\\s+";

inline constexpr std::string_view bytes_split = "ByteLevel with its regex";
inline constexpr std::string_view bytes_only = "ByteLevel without its regex";
inline constexpr std::string_view each_digit = "Digits one by one";
inline constexpr std::string_view digit_runs = "Digits in runs";
inline constexpr std::string_view punctuation_runs = "Punctuation in runs";

// A pre-tokenizer's steps in order: the regex of each Split, or the words for another step.
struct KnownChain {
  std::string_view name;
  std::array<std::string_view, 7> steps;
};

inline constexpr KnownChain known_chains[] = {
    {"gpt-2", {bytes_split}},
    {"gpt-2", {gpt2_regex, bytes_only}},
    {"smollm", {each_digit, bytes_split}},
    {"llama-bpe", {llama3_regex, bytes_only}},
    {"qwen2", {qwen2_regex, bytes_only}},
    {"qwen35", {qwen35_regex, bytes_only}},
    {"gpt-4o", {gpt4o_regex, bytes_only}},
    {"tekken", {tekken_regex, bytes_only}},
    {"deepseek-llm",
     {"[\r\n]", deepseek_letters_regex, deepseek_punctuation_regex, "\\s+$", deepseek_ideographs_regex, each_digit, bytes_only}},
    {"deepseek-coder", {"[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", deepseek_ideographs_regex, each_digit, bytes_only}},
    {"deepseek-v3", {"\\p{N}{1,3}", "[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+", deepseek3_regex, bytes_only}},
    {"falcon", {punctuation_runs, bytes_split, digit_runs, "[0-9][0-9][0-9]"}},
    {"bloom", {" ?[^(\\s|[.,!?…。，、।۔،])]+", bytes_only}}};

inline bool matches_all(std::string_view regex) {
  for (const auto whole : {gpt2_regex, llama3_regex, qwen2_regex, qwen35_regex, gpt4o_regex, tekken_regex})
    if (regex == whole) return true;
  return false;
}

// A Split's regex. Its matches must be pieces of their own, and so what lies between them; where a regex matches all, to remove what
// it does not match is the same.
inline std::string split_regex(const Fields& step) {
  const Fields pattern = step.object("pattern");
  const auto regex = pattern.text("Regex");
  if (!regex)
    throw Error(step.where() + ": a Split by a fixed text, " + shown(pattern.find("String") ? *pattern.find("String") : Json()) +
                ", is not supported");
  const bool invert = step.flag("invert", false);
  const std::string behavior = step.text("behavior").value_or("");
  const bool isolates = (behavior == "Isolated" && !invert) || (behavior == "Removed" && invert && matches_all(*regex));
  if (!isolates)
    throw Error(step.where() + ": a Split with behavior " + in_quotes(behavior) + " and invert " + (invert ? "true" : "false") +
                " is not supported; its regex is " + in_quotes(*regex));
  for (const KnownChain& known : known_chains)
    for (const std::string_view part : known.steps)
      if (*regex == part) return *regex;
  throw Error(step.where() + ": the pre-tokenizer's regex " + in_quotes(*regex) + " is not known");
}

// One step as the chains above spell it.
inline std::string spelled_step(const Fields& step) {
  step.need("type");
  const std::string type = *step.text("type");
  if (type == "Split") return split_regex(step);
  if (type == "Digits") return std::string(step.flag("individual_digits", false) ? each_digit : digit_runs);
  if (type == "Punctuation") {
    const std::string behavior = step.text("behavior").value_or("Isolated");
    return behavior == "Contiguous" ? std::string(punctuation_runs) : "Punctuation with behavior " + in_quotes(behavior);
  }
  if (type == "ByteLevel") {
    if (step.flag("add_prefix_space", true)) throw Error(step.where() + ": ByteLevel with add_prefix_space true is not supported");
    return std::string(step.flag("use_regex", true) ? bytes_split : bytes_only);
  }
  return type;
}

}  // namespace hf_detail

// `value`: "pre_tokenizer" of a tokenizer.json whose model is a byte-level BPE.
inline std::string hf_pre_tokenizer(const Json& value, const std::string& where) {
  const Fields whole(value, where);
  whole.need("type");
  std::vector<std::string> steps;
  std::string sentence;
  const auto add = [&](const Fields& step) {
    steps.push_back(hf_detail::spelled_step(step));
    sentence += (steps.size() > 1 ? ", " : "") + (step.text("type") == "Split" ? "Split " + in_quotes(steps.back()) : steps.back());
  };
  if (whole.text("type") == "Sequence") {
    const Json& list = whole.need("pretokenizers");
    if (!list.is_array()) throw Error(where + ": pretokenizers is " + shown(list) + ", and must be a list");
    for (const Json& step : list) add(Fields(step, where + ": step " + std::to_string(steps.size())));
  } else {
    add(whole);
  }
  for (const hf_detail::KnownChain& known : hf_detail::known_chains) {
    const auto end = std::find(known.steps.begin(), known.steps.end(), std::string_view());
    if (std::equal(known.steps.begin(), end, steps.begin(), steps.end())) return std::string(known.name);
  }
  throw Error(where + ": the pre-tokenizer made of " + (sentence.empty() ? "nothing" : sentence) + " is not known");
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
