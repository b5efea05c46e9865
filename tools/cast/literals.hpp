// C++ literals and identifiers for text that comes from a model file. Nothing in such a text can end a literal, a line or a comment: whatever is
// not plain ASCII is written as three octal digits, which no following character can lengthen, and `??` never stands, so there are no trigraphs.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include <diecast/error.hpp>

namespace diecast::cast {

// The inside of a literal, without its quotes.
inline std::string escaped(std::string_view text) {
  std::string out;
  char before = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else if (c == '\r') out += "\\r";
    else if (c == '"' || c == '\\' || (c == '?' && before == '?')) (out += '\\') += c;
    else if (byte >= 0x20 && byte < 0x7f) out += c;
    else ((out += '\\') += static_cast<char>('0' + (byte >> 6))) += {static_cast<char>('0' + (byte >> 3 & 7)), static_cast<char>('0' + (byte & 7))};
    before = c;
  }
  return out;
}

inline std::string literal(std::string_view text) { return '"' + escaped(text) + '"'; }

// A text of several lines: one literal a line, each behind `indent`. Very long lines are cut, since tools choke on them.
inline std::string literal_lines(std::string_view text, std::string_view indent) {
  constexpr std::size_t longest = 2000;
  std::string out;
  do {
    const std::size_t end = (std::min)({text.find('\n', 0) == text.npos ? text.size() : text.find('\n', 0) + 1, longest, text.size()});
    ((out += '\n') += indent) += literal(text.substr(0, end));
    text.remove_prefix(end);
  } while (!text.empty());
  return out;
}

// A number that reads back as the same bits, as a person writes it: 1e-5, 100'000, 0.7.
inline std::string literal(double value) {
  if (!std::isfinite(value)) throw Error("a config holds finite numbers only");
  if (value == 0) return std::signbit(value) ? "-0.0" : "0";
  std::array<char, 64> buffer{};
  const auto spelled = [&](auto... how) {
    return std::string(buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, how...).ptr);
  };
  if (value == std::trunc(value) && std::abs(value) < 1e15) {
    std::string digits = spelled(std::chars_format::fixed);
    const std::size_t sign = value < 0 ? 1 : 0;
    if (digits.size() - sign > 4)
      for (std::size_t at = digits.size(); at > sign + 3;) digits.insert(at -= 3, 1, '\'');
    return digits;
  }
  std::string text = spelled();
  if (const std::size_t e = text.find('e'); e != text.npos) {  // 1e-05, 1e+20
    std::size_t digits = e + 1;
    if (text[digits] == '+') text.erase(digits, 1);
    else ++digits;
    while (text[digits] == '0') text.erase(digits, 1);
  }
  return text;
}

constexpr std::size_t longest_identifier = 80;

inline bool is_keyword(std::string_view word) {
  static constexpr auto keywords = std::to_array<std::string_view>({
      "alignas",       "alignof",      "and",       "and_eq",    "asm",       "auto",      "bitand",   "bitor",    "bool",     "break",
      "case",          "catch",        "char",      "char16_t",  "char32_t",  "char8_t",   "class",    "co_await", "co_return", "co_yield",
      "compl",         "concept",      "const",     "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default",
      "delete",        "diecast",      "do",        "double",    "dynamic_cast", "else",   "enum",     "explicit", "export",   "extern",
      "false",         "float",        "for",       "friend",    "goto",      "if",        "inline",   "int",      "long",     "linux",
      "mutable",       "namespace",    "new",       "noexcept",  "not",       "not_eq",    "nullptr",  "operator", "or",       "or_eq",
      "private",       "protected",    "public",    "register",  "reinterpret_cast", "requires", "return", "short", "signed",  "sizeof",
      "static",        "static_assert", "static_cast", "struct", "switch",    "template",  "this",     "thread_local", "throw", "true",
      "try",           "typedef",      "typeid",    "typename",  "union",     "unix",      "unsigned", "using",    "virtual",  "void",
      "volatile",      "wchar_t",      "while",     "xor",       "xor_eq",    "small",     "main",     "errno"});
  return std::find(keywords.begin(), keywords.end(), word) != keywords.end();
}

// [a-z][a-z0-9_]*, no keyword, no double underscore, not too long: such a word may name a struct, a file and a build target.
inline bool is_identifier(std::string_view word) {
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto fits = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  return !word.empty() && word.size() <= longest_identifier && letter(word[0]) && std::all_of(word.begin(), word.end(), fits) &&
         word.find("__") == word.npos && !is_keyword(word);
}

// An identifier out of any name: "Qwen2.5 0.5B" becomes qwen2_5_0_5b.
inline std::string identifier_of(std::string_view name) {
  std::string word;
  for (const char c : name.substr(0, longest_identifier - 8)) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool fits = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
    if (fits || word.empty() || word.back() != '_') word += fits ? lower : '_';
  }
  if (word.empty() || word[0] < 'a' || word[0] > 'z') word = "model" + std::string(word.starts_with('_') ? "" : "_") + word;
  if (is_keyword(word)) word += "_model";
  return word;
}

}  // namespace diecast::cast
