// NFC and NFKC (Unicode Standard Annex 15): decompose, put marks in order, compose. A text falls into chunks that no composition
// crosses; each is normalised by itself, so that it stays known which bytes of the result somebody typed.
// What is not UTF-8 passes through.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <diecast/chat/prompt_text.hpp>
#include <diecast/tokens/unicode_normalization.hpp>
#include <diecast/tokens/utf8.hpp>

namespace diecast {

enum class NormalForm { nfc, nfkc };

namespace unicode {

constexpr unsigned combining_class(char32_t point) {
  if (point < 0x300) return 0;
  const std::uint32_t key = static_cast<std::uint32_t>(point) * 256 + 255;
  return *std::prev(std::upper_bound(std::begin(combining_class_runs), std::end(combining_class_runs), key)) & 255;
}

// Hangul syllables are arithmetic (section 3.12): 19 leading consonants, 21 vowels, 28 trailing consonants, the first of which is none.
struct Hangul {
  static constexpr char32_t syllable = 0xAC00, lead = 0x1100, vowel = 0x1161, trail = 0x11A7;
  static constexpr char32_t leads = 19, vowels = 21, trails = 28;
  static constexpr bool is_syllable(char32_t point) { return point >= syllable && point < syllable + leads * vowels * trails; }
};

// The full decomposition of a code point, appended.
inline void decompose(char32_t point, NormalForm form, std::vector<char32_t>& out) {
  if (Hangul::is_syllable(point)) {
    const char32_t index = point - Hangul::syllable;
    out.push_back(Hangul::lead + index / (Hangul::vowels * Hangul::trails));
    out.push_back(Hangul::vowel + index / Hangul::trails % Hangul::vowels);
    if (index % Hangul::trails != 0) out.push_back(Hangul::trail + index % Hangul::trails);
    return;
  }
  const auto found = point < 0xA0 ? std::end(decomposed) : std::lower_bound(std::begin(decomposed), std::end(decomposed), point * 2);
  if (found == std::end(decomposed) || *found / 2 != point || (*found % 2 == 1 && form == NormalForm::nfc)) return out.push_back(point);
  const auto entry = static_cast<std::size_t>(found - std::begin(decomposed));
  for (std::size_t i = decomposition_begins[entry]; i < decomposition_begins[entry + 1]; ++i) decompose(decomposition_pool[i], form, out);
}

constexpr std::optional<char32_t> compose(char32_t first, char32_t second) {
  if (first >= Hangul::lead && first < Hangul::lead + Hangul::leads && second >= Hangul::vowel && second < Hangul::vowel + Hangul::vowels) {
    return Hangul::syllable + ((first - Hangul::lead) * Hangul::vowels + (second - Hangul::vowel)) * Hangul::trails;
  }
  if (Hangul::is_syllable(first) && (first - Hangul::syllable) % Hangul::trails == 0 && second > Hangul::trail && second < Hangul::trail + Hangul::trails) {
    return first + (second - Hangul::trail);
  }
  const auto found = std::lower_bound(std::begin(compositions), std::end(compositions), Composition{first, second, 0},
                                      [](const Composition& a, const Composition& b) { return a.first != b.first ? a.first < b.first : a.second < b.second; });
  if (found == std::end(compositions) || found->first != first || found->second != second) return std::nullopt;
  return found->composite;
}

// Whether nothing that stands before this code point (fully decomposed) can compose with it or change places with it.
constexpr bool begins_chunk(char32_t point) {
  if (point < 0x300) return true;
  if ((point >= Hangul::vowel && point < Hangul::vowel + Hangul::vowels) || (point > Hangul::trail && point < Hangul::trail + Hangul::trails)) return false;
  return combining_class(point) == 0 && !std::binary_search(std::begin(composing_starters), std::end(composing_starters), point);
}

// Marks into canonical order, then composition, in place.
inline void reorder_and_compose(std::vector<char32_t>& points) {
  for (auto first = points.begin(); first != points.end();) {
    const auto is_starter = [](char32_t point) { return combining_class(point) == 0; };
    first = std::find_if_not(first, points.end(), is_starter);
    const auto last = std::find_if(first, points.end(), is_starter);
    std::stable_sort(first, last, [](char32_t a, char32_t b) { return combining_class(a) < combining_class(b); });
    first = last;
  }
  std::size_t size = 0;
  std::optional<std::size_t> starter;
  unsigned last_class = 0;
  for (const char32_t point : points) {
    const unsigned own_class = combining_class(point);
    if (starter && (*starter + 1 == size || last_class < own_class)) {
      if (const auto composite = compose(points[*starter], point)) {
        points[*starter] = *composite;
        continue;
      }
    }
    if (own_class == 0) starter = size;
    last_class = own_class;
    points[size++] = point;
  }
  points.resize(size);
}

}  // namespace unicode

// Part of a prompt in normal form; a chunk of the result counts as typed when any byte of its source was.
inline PromptText normalize(const PromptText& prompt, Range part, NormalForm form) {
  const std::string_view text = std::string_view(prompt.text).substr(0, part.end);
  PromptText result;
  std::size_t typed = 0;
  std::size_t chunk_begin = part.begin;
  std::vector<char32_t> chunk;
  const auto finish_chunk = [&](std::size_t end) {
    if (end == chunk_begin) return;
    const std::size_t before = result.text.size();
    unicode::reorder_and_compose(chunk);
    for (const char32_t point : chunk) append_utf8(result.text, point);
    if (chunk.empty()) result.text += text.substr(chunk_begin, end - chunk_begin);  // not UTF-8
    while (typed < prompt.typed.size() && prompt.typed[typed].end <= chunk_begin) ++typed;
    if (typed < prompt.typed.size() && prompt.typed[typed].begin < end) {
      if (!result.typed.empty() && result.typed.back().end == before) result.typed.back().end = result.text.size();
      else result.typed.push_back({before, result.text.size()});
    }
    chunk.clear();
    chunk_begin = end;
  };
  std::vector<char32_t> points;
  bool broken = false;  // the chunk is bytes that are no UTF-8
  for (std::size_t at = part.begin; at < part.end;) {
    const Utf8 character = decode_utf8(text, at);
    points.clear();
    if (character.state == Utf8State::valid) unicode::decompose(character.code_point, form, points);
    if (broken || points.empty() || unicode::begins_chunk(points.front())) finish_chunk(at);
    broken = points.empty();
    chunk.insert(chunk.end(), points.begin(), points.end());
    at += character.length;
  }
  finish_chunk(part.end);
  return result;
}

inline std::string normalize(std::string_view text, NormalForm form) {
  return normalize(PromptText{std::string(text), {}}, {0, text.size()}, form).text;
}

}  // namespace diecast
