// The expressions of GPT-2, Llama 3, Qwen and GPT-4o as scanners: each gives the end of the piece that begins at `at`, and every
// character belongs to a piece. One pass over a piece stands for what a regular expression finds by trying and going back; where that
// is not plain to see, it is said why. The expressions are quoted as tokenizer.json files publish them.
#pragma once

#include <cstddef>
#include <string_view>

#include <diecast/tokens/scan.hpp>

namespace diecast::scan {

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
constexpr std::size_t gpt2(std::string_view text, std::size_t at) {
  if (const std::size_t end = contraction(text, at, false); end > at) return end;
  const Character first = look(text, at);
  const std::size_t body = first.point == U' ' ? at + 1 : at;
  const Class kind = look(text, body).kind;
  return kind == Class::space || kind == Class::end ? spaces(text, at) : run_of(text, body, kind);
}

// Llama 3, Qwen 2 (digits 1):
//   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
// Qwen 3.5, where marks are parts of words:
//   ...|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|...
template <std::size_t digits, bool marks = false>
constexpr std::size_t llama3(std::string_view text, std::size_t at) {
  const auto in_word = [](const Character& c) { return c.kind == Class::letter || (marks && is_mark(c)); };
  const auto is_symbol = [](const Character& c) { return c.kind == Class::other && !(marks && is_mark(c)); };
  if (const std::size_t end = contraction(text, at, true); end > at) return end;
  const Character first = look(text, at);
  if (in_word(first)) return run(text, at, in_word);
  if (first.kind == Class::number) return run_of(text, at, Class::number, digits);
  const Character second = look(text, at + first.length);
  if (in_word(second) && joins_word(first)) return run(text, at + first.length, in_word);
  if (is_symbol(first)) return run(text, run(text, at, is_symbol), is_newline);
  if (first.point == U' ' && is_symbol(second)) return run(text, run(text, at + 1, is_symbol), is_newline);
  return lines_or_spaces(text, at);
}

// [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*
// A word ends where a capital follows a small letter. The first run takes capitals and letters without case; if no small letter
// follows, it gives back what it took until the second run can take one letter without case: the last of them ends the word.
// Without any the word is all capitals, which is the second alternative. `at` where there is no word.
constexpr std::size_t cased_word(std::string_view text, std::size_t at) {
  using unicode::Category;
  const auto caseless = [](const Character& c) { return c.category == Category::Lm || c.category == Category::Lo || is_mark(c); };
  const auto not_capital = [caseless](const Character& c) { return c.category == Category::Ll || caseless(c); };
  std::size_t end = at;
  std::size_t after_caseless = at;
  for (Character c = look(text, at); c.category == Category::Lu || c.category == Category::Lt || caseless(c); c = look(text, end)) {
    end += c.length;
    if (caseless(c)) after_caseless = end;
  }
  if (const std::size_t small_end = run(text, end, not_capital); small_end > end) return small_end;
  return after_caseless > at ? after_caseless : end;
}

// GPT-4o (digits 3, contractions belong to the word before them) and Tekken (digits 1, no contractions); W are the two alternatives
// above, each with the optional parts around it:
//   [^\r\n\p{L}\p{N}]?W(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,digits}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
// A mark is a letter without case and may also stand before a word; taken as part of the word it gives the same piece, or, before
// capitals only, the first alternative, which comes first.
template <std::size_t digits, bool contractions>
constexpr std::size_t cased(std::string_view text, std::size_t at) {
  const Character first = look(text, at);
  const std::size_t word = joins_word(first) && !is_mark(first) ? at + first.length : at;
  if (const std::size_t end = cased_word(text, word); end > word) return contractions ? contraction(text, end, true) : end;
  if (first.kind == Class::number) return run_of(text, at, Class::number, digits);
  const std::size_t body = first.point == U' ' ? at + 1 : at;
  if (const std::size_t end = run_of(text, body, Class::other); end > body) {
    return run(text, end, [](const Character& c) { return is_newline(c) || c.point == U'/'; });
  }
  return lines_or_spaces(text, at);
}

}  // namespace diecast::scan
