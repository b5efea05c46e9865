// What the scanners ask about a character. One binary search over the runs of unicode_tables.hpp; ASCII comes from a small table.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <iterator>

#include <diecast/tokens/unicode_tables.hpp>

namespace diecast::unicode {

constexpr Category search_category(char32_t point) {
  const std::uint32_t key = static_cast<std::uint32_t>(std::min<char32_t>(point, 0x10FFFF)) * 32 + 31;
  return static_cast<Category>(*std::prev(std::upper_bound(std::begin(category_runs), std::end(category_runs), key)) & 31);
}

inline constexpr auto ascii_categories = [] {
  std::array<Category, 128> table{};
  for (char32_t point = 0; point < 128; ++point) table[point] = search_category(point);
  return table;
}();

constexpr Category category(char32_t point) { return point < 128 ? ascii_categories[point] : search_category(point); }

constexpr bool between(Category value, Category first, Category last) { return value >= first && value <= last; }

constexpr bool is_letter(Category value) { return between(value, Category::Lu, Category::Lo); }
constexpr bool is_mark(Category value) { return between(value, Category::Mn, Category::Me); }
constexpr bool is_number(Category value) { return between(value, Category::Nd, Category::No); }
constexpr bool is_punctuation(Category value) { return between(value, Category::Pc, Category::Po); }
constexpr bool is_symbol(Category value) { return between(value, Category::Sm, Category::So); }

// White_Space of PropList.txt: the separators and six control characters.
constexpr bool is_white_space(char32_t point) {
  return (point >= 9 && point <= 13) || point == 0x20 || point == 0x85 || (point >= 128 && between(category(point), Category::Zs, Category::Zp));
}

// \w of UTS 18, which decides where a word ends: Alphabetic, marks, decimal digits, connectors and the two joiners. The
// letter-like symbols that are Alphabetic are the circled and squared Latin letters.
constexpr bool is_word(char32_t point) {
  const Category value = category(point);
  return is_letter(value) || is_mark(value) || value == Category::Nd || value == Category::Nl || value == Category::Pc || point == 0x200C ||
         point == 0x200D || (point >= 0x24B6 && point <= 0x24E9) || (point >= 0x1F130 && point <= 0x1F149) ||
         (point >= 0x1F150 && point <= 0x1F169) || (point >= 0x1F170 && point <= 0x1F189);
}

}  // namespace diecast::unicode
