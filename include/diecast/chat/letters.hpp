// Upper, lower and title case, and the kinds of letters, of one code point: tables made from Python's, searched by halves.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <diecast/chat/letters_table.hpp>
#include <diecast/chat/utf8.hpp>

namespace diecast::chat {

template <std::size_t Size>
inline bool in_ranges(const std::array<CodeRange, Size>& ranges, char32_t c) {
  const auto at =
      std::lower_bound(ranges.begin(), ranges.end(), c, [](const CodeRange& range, char32_t code) { return range.last < code; });
  return at != ranges.end() && at->first <= c;
}

inline bool is_alphabetic(char32_t c) { return in_ranges(alphabetic_ranges, c); }
inline bool is_numeric(char32_t c) { return in_ranges(numeric_ranges, c); }
inline bool is_decimal(char32_t c) { return in_ranges(decimal_ranges, c); }
inline bool is_digit(char32_t c) { return in_ranges(digit_ranges, c); }
inline bool is_printable(char32_t c) { return in_ranges(printable_ranges, c); }
inline bool is_lower_letter(char32_t c) { return in_ranges(lowercase_ranges, c); }
inline bool is_upper_letter(char32_t c) { return in_ranges(uppercase_ranges, c); }
inline bool is_title_letter(char32_t c) {  // the digraphs that are neither
  return c == 0x1C5 || c == 0x1C8 || c == 0x1CB || c == 0x1F2 ||
         (c >= 0x1F88 && c <= 0x1FFC && !is_lower_letter(c) && !is_upper_letter(c) && is_alphabetic(c));
}
inline bool is_cased(char32_t c) { return is_lower_letter(c) || is_upper_letter(c) || is_title_letter(c); }
inline bool is_word(char32_t c) { return c == '_' || is_alphabetic(c) || is_numeric(c); }

enum class Letter : std::uint8_t { upper, lower, title };

template <std::size_t Runs, std::size_t Strings>
inline bool add_from(std::string& out, char32_t c, const std::array<CaseRun, Runs>& runs, const std::array<CaseString, Strings>& strings) {
  const auto several =
      std::lower_bound(strings.begin(), strings.end(), c, [](const CaseString& entry, char32_t code) { return entry.from < code; });
  if (several != strings.end() && several->from == c) {
    out += several->to;
    return true;
  }
  // A run of every second code point may lie over another one, so the nearest few before `c` are asked.
  auto run = std::upper_bound(runs.begin(), runs.end(), c, [](char32_t code, const CaseRun& entry) { return code < entry.first; });
  for (int back = 0; back < 3 && run != runs.begin(); ++back) {
    --run;
    if (c <= run->last && (c - run->first) % run->stride == 0) {
      append_character(out, static_cast<char32_t>(static_cast<std::int64_t>(c) + run->delta));
      return true;
    }
  }
  return false;
}

inline void add_mapped(std::string& out, char32_t c, Letter to) {
  if (c < 0x80) {
    const bool lower_case = c >= 'a' && c <= 'z';
    const bool large = c >= 'A' && c <= 'Z';
    append_character(out, to == Letter::lower ? (large ? c + 32 : c) : (lower_case ? c - 32 : c));
    return;
  }
  if (to == Letter::title && add_from(out, c, title_runs, title_strings)) return;
  if (to == Letter::lower ? add_from(out, c, lower_runs, lower_strings) : add_from(out, c, upper_runs, upper_strings)) return;
  append_character(out, c);
}

}  // namespace diecast::chat
