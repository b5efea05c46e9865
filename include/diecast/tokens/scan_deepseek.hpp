// DeepSeek's steps: each isolates what it finds in the pieces that the steps before it left. The classes are the files' own, spelled
// out as ranges there too; they are neither Unicode's nor free of overlaps, and the models learned with them.
#pragma once

#include <cstddef>
#include <string_view>

#include <diecast/tokens/scan.hpp>

namespace diecast::scan {

// The letters of deepseek-llm: A-Za-zµÀ-ÖØ-öø-ƺ and so on. Some of the letters that have case.
inline constexpr CharacterRange deepseek_letters[] = {
    {0x41, 0x5A}, {0x61, 0x7A}, {0xB5, 0xB5}, {0xC0, 0xD6}, {0xD8, 0xF6}, {0xF8, 0x1BA}, {0x1BC, 0x1BF}, {0x1C4, 0x293}, {0x295, 0x2AF},
    {0x370, 0x373}, {0x376, 0x376}, {0x377, 0x377}, {0x37B, 0x37D}, {0x37F, 0x37F}, {0x386, 0x386}, {0x388, 0x38A}, {0x38C, 0x38C},
    {0x38E, 0x3A1}, {0x3A3, 0x3F5}, {0x3F7, 0x481}, {0x48A, 0x52F}, {0x531, 0x556}, {0x10A0, 0x10C5}, {0x13A0, 0x13F5}, {0x13F8, 0x13FD},
    {0x1C90, 0x1CBA}, {0x1CBD, 0x1CBF}, {0x1D00, 0x1D2B}, {0x1D6B, 0x1D77}, {0x1D79, 0x1D9A}, {0x1E00, 0x1F15}, {0x1F18, 0x1F1D},
    {0x1F20, 0x1F45}, {0x1F48, 0x1F4D}, {0x1F50, 0x1F57}, {0x1F59, 0x1F59}, {0x1F5B, 0x1F5B}, {0x1F5D, 0x1F5D}, {0x1F5F, 0x1F7D},
    {0x1F80, 0x1FB4}, {0x1FB6, 0x1FBC}, {0x1FBE, 0x1FBE}, {0x1FC2, 0x1FC4}, {0x1FC6, 0x1FCC}, {0x1FD0, 0x1FD3}, {0x1FD6, 0x1FDB},
    {0x1FE0, 0x1FEC}, {0x1FF2, 0x1FF4}, {0x1FF6, 0x1FFC}, {0x2102, 0x2102}, {0x2107, 0x2107}, {0x210A, 0x2113}, {0x2115, 0x2115},
    {0x2119, 0x211D}, {0x2124, 0x2124}, {0x2126, 0x2126}, {0x2128, 0x2128}, {0x212A, 0x212D}, {0x212F, 0x2134}, {0x2139, 0x2139},
    {0x213C, 0x213F}, {0x2145, 0x2149}, {0x214E, 0x214E}, {0x2183, 0x2183}, {0x2184, 0x2184}, {0x2C00, 0x2C7B}, {0x2C7E, 0x2CE4},
    {0x2CEB, 0x2CEE}, {0x2CF2, 0x2CF2}, {0x2CF3, 0x2CF3}, {0xA640, 0xA66D}, {0xA680, 0xA69B}, {0xA722, 0xA76F}, {0xA771, 0xA787},
    {0xA78B, 0xA78E}, {0xAB70, 0xABBF}, {0xFB00, 0xFB06}, {0xFB13, 0xFB17}, {0xFF21, 0xFF3A}, {0xFF41, 0xFF5A}, {0x10400, 0x1044F},
    {0x104B0, 0x104D3}, {0x104D8, 0x104FB}, {0x10C80, 0x10CB2}, {0x10CC0, 0x10CF2}, {0x118A0, 0x118DF}, {0x1E900, 0x1E943},};

constexpr bool is_deepseek_letter(const Character& c) { return is_within(deepseek_letters, c); }
// [!-/:-~！-／：-～‘-‟　-。] : with the ASCII letters, which lie between : and ~.
constexpr bool is_deepseek_punctuation(const Character& c) {
  return is_between(c, U'!', U'/') || is_between(c, U':', U'~') || is_between(c, 0xFF01, 0xFF0F) || is_between(c, 0xFF1A, 0xFF5E) ||
         is_between(c, 0x2018, 0x201F) || is_between(c, 0x3000, 0x3002);
}
// [一-龥ࠀ-一가-퟿]
constexpr bool is_deepseek_ideograph(const Character& c) { return is_between(c, 0x800, 0x9FA5) || is_between(c, 0xAC00, 0xD7FF); }
// [一-龥぀-ゟ゠-ヿ]
constexpr bool is_deepseek3_ideograph(const Character& c) { return is_between(c, 0x4E00, 0x9FA5) || is_between(c, 0x3040, 0x30FF); }
constexpr bool is_letter(const Character& c) { return c.kind == Class::letter; }
constexpr bool is_unicode_punctuation(const Character& c) { return unicode::is_punctuation(c.category); }

// \s?[...]+
template <bool (*accepts)(const Character&)>
constexpr std::size_t maybe_spaced(std::string_view text, std::size_t at) {
  const Character first = look(text, at);
  if (first.kind == Class::space) {
    const std::size_t word = at + first.length;
    if (const std::size_t end = run(text, word, accepts); end > word) return end;
  }
  return run(text, at, accepts);  // the space itself may be accepted: U+3000
}

// \s+$ isolated: the white space at the end of the text, and all before it.
constexpr std::size_t trailing_spaces(std::string_view text, std::size_t at) {
  std::size_t trailing = at;
  std::size_t end = at;
  for (Character c = look(text, end); c.kind != Class::end; c = look(text, end)) {
    end += c.length;
    if (c.kind != Class::space) trailing = end;
  }
  return trailing > at ? trailing : end;
}

// [ASCII punctuation][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
// Numbers and control characters that no word follows are in none of them.
constexpr std::size_t deepseek3_word(std::string_view text, std::size_t at) {
  const auto in_word = [](const Character& c) { return c.kind == Class::letter || is_mark(c); };
  const auto is_symbol = [](const Character& c) { return unicode::is_punctuation(c.category) || unicode::is_symbol(c.category); };
  const Character first = look(text, at);
  const std::size_t next = at + first.length;
  const Character second = look(text, next);
  if (is_ascii_punctuation(first) && is_ascii_letter(second)) return run(text, next, is_ascii_letter);
  if (in_word(first)) return run(text, at, in_word);
  if (in_word(second) && !is_newline(first) && !is_symbol(first)) return run(text, next, in_word);
  if (is_symbol(first)) return run(text, run(text, at, is_symbol), is_newline);
  if (first.point == U' ' && is_symbol(second)) return run(text, run(text, next, is_symbol), is_newline);
  return first.kind == Class::space ? lines_or_spaces(text, at) : at;
}

}  // namespace diecast::scan
