// The small parts of which the pre-tokenizers are made. Each looks at a text from a position on and gives the end of what it matches;
// it moves forward only and keeps no state, so that the time is linear and the stack does not grow with the text.
// What is not UTF-8 counts as U+FFFD, a symbol, and keeps its bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

#include <diecast/tokens/unicode.hpp>
#include <diecast/tokens/utf8.hpp>

namespace diecast::scan {

enum class Class : unsigned char { end, letter, number, space, other };  // other: marks, punctuation, symbols, controls, unassigned

struct Character {
  char32_t point;
  std::size_t length;  // bytes; 0 at the end of the text
  unicode::Category category;
  Class kind;
};

constexpr Class classify(char32_t point, unicode::Category category) {
  if (unicode::is_letter(category)) return Class::letter;
  if (unicode::is_number(category)) return Class::number;
  return unicode::is_white_space(point) ? Class::space : Class::other;
}

constexpr Character look(std::string_view text, std::size_t at) {
  if (at >= text.size()) return {0, 0, unicode::Category::Cn, Class::end};
  const Utf8 character = decode_utf8(text, at);
  const unicode::Category category = unicode::category(character.code_point);
  return {character.code_point, character.length, category, classify(character.code_point, category)};
}

constexpr bool is_newline(const Character& c) { return c.point == U'\r' || c.point == U'\n'; }
constexpr bool is_number(const Character& c) { return c.kind == Class::number; }
constexpr bool is_mark(const Character& c) { return unicode::is_mark(c.category); }
constexpr bool is_between(const Character& c, char32_t first, char32_t last) { return c.point >= first && c.point <= last; }
constexpr bool is_ascii_letter(const Character& c) { return is_between(c, U'A', U'Z') || is_between(c, U'a', U'z'); }
constexpr bool is_ascii_punctuation(const Character& c) {
  return is_between(c, U'!', U'/') || is_between(c, U':', U'@') || is_between(c, U'[', U'`') || is_between(c, U'{', U'~');
}

struct CharacterRange {
  char32_t first;
  char32_t last;
};

// `ranges` ascend and do not touch one another.
template <std::size_t count>
constexpr bool is_within(const CharacterRange (&ranges)[count], const Character& c) {
  const auto* after = std::upper_bound(std::begin(ranges), std::end(ranges), c.point,
                                       [](char32_t point, const CharacterRange& range) { return point < range.first; });
  return after != std::begin(ranges) && c.point <= std::prev(after)->last;
}

// The end of the longest run of characters that satisfy `accepts`, at most `most` of them.
template <class Predicate>
constexpr std::size_t run(std::string_view text, std::size_t at, Predicate accepts, std::size_t most = static_cast<std::size_t>(-1)) {
  for (std::size_t count = 0; count < most; ++count) {
    const Character c = look(text, at);
    if (c.kind == Class::end || !accepts(c)) break;
    at += c.length;
  }
  return at;
}

constexpr std::size_t run_of(std::string_view text, std::size_t at, Class kind, std::size_t most = static_cast<std::size_t>(-1)) {
  return run(text, at, [kind](const Character& c) { return c.kind == kind; }, most);
}

// 's 't 're 've 'm 'll 'd; `at` where there is none. Without regard to case, s is also the long s (Unicode's simple case folding).
constexpr std::size_t contraction(std::string_view text, std::size_t at, bool any_case) {
  if (at >= text.size() || text[at] != '\'') return at;
  const auto letter = [&](std::size_t index) {
    const char c = index < text.size() ? text[index] : '\0';
    return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  const char first = letter(at + 1);
  const char second = letter(at + 2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
  if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l')) return at + 3;
  if (any_case && text.substr(at + 1, 2) == "\u017F") return at + 3;
  return at;
}

// \s+(?!\S)|\s+ : a run of white space; where a word follows, its last character is left to that word, unless it is the only one.
constexpr std::size_t spaces(std::string_view text, std::size_t at) {
  std::size_t last = at;
  std::size_t end = at;
  for (Character c = look(text, at); c.kind == Class::space; c = look(text, end)) {
    last = end;
    end += c.length;
  }
  return end == text.size() || last == at ? end : last;
}

// \s*[\r\n]+|\s+(?!\S)|\s+ : white space up to its last newline; where it has none, as above.
constexpr std::size_t lines_or_spaces(std::string_view text, std::size_t at) {
  std::size_t after_newline = at;
  std::size_t end = at;
  for (Character c = look(text, at); c.kind == Class::space; c = look(text, end)) {
    end += c.length;
    if (is_newline(c)) after_newline = end;
  }
  return after_newline > at ? after_newline : spaces(text, at);
}

// [^\r\n\p{L}\p{N}] : what may stand before a word and belong to it.
constexpr bool joins_word(const Character& c) {
  return (c.kind == Class::space || c.kind == Class::other) && !is_newline(c);
}

// A step that isolates what `match` finds: its matches, and what lies between them, are pieces. `match` gives the end of a match that
// begins at `at`, or `at` where there is none; then it must have looked at a few characters only.
template <std::size_t (*match)(std::string_view, std::size_t)>
constexpr std::size_t isolate(std::string_view text, std::size_t at) {
  if (const std::size_t end = match(text, at); end > at) return end;
  do {
    at += decode_utf8(text, at).length;
  } while (at < text.size() && match(text, at) == at);
  return at;
}

// The same for a run of characters of one kind.
template <bool (*accepts)(const Character&), std::size_t most = static_cast<std::size_t>(-1)>
constexpr std::size_t isolate_run(std::string_view text, std::size_t at) {
  const std::size_t end = run(text, at, accepts, most);
  return end > at ? end : run(text, at, [](const Character& c) { return !accepts(c); });
}

}  // namespace diecast::scan
