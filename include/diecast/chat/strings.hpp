// The operations on strings, each carrying along which bytes were typed. Widths and counts are code points.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <diecast/chat/budget.hpp>
#include <diecast/chat/letters.hpp>
#include <diecast/chat/slices.hpp>
#include <diecast/chat/text.hpp>
#include <diecast/chat/utf8.hpp>

namespace diecast::chat {

// For HTML, as markupsafe does it.
inline Text escaped_text(Budget& budget, const Text& text) {
  TextBuilder out(budget);
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text.view()[at];
    const std::string_view to = c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&#34;" : c == '\'' ? "&#39;" : "";
    if (to.empty()) {
      out.add(text, at, at + 1);
    } else {
      out.add(to, text.any_typed(at, at + 1));
    }
  }
  return out.take().as_markup();
}

// --- cutting ---------------------------------------------------------------------------------------------------------

enum class Side : std::uint8_t { left, right, both };

// Without `chars`: white space.
inline Text strip(const Text& text, const Text* chars, Side side) {
  const std::string_view bytes = text.view();
  const auto strips = [&](std::size_t at) {
    const CodePoint c = decode_at(bytes, at);
    if (chars == nullptr) return is_space(c.value);
    for (std::size_t i = 0; i < chars->size(); i += decode_at(chars->view(), i).length) {
      if (decode_at(chars->view(), i).value == c.value) return true;
    }
    return false;
  };
  std::size_t begin = 0;
  std::size_t end = bytes.size();
  if (side != Side::right) {
    while (begin < end && strips(begin)) begin += decode_at(bytes, begin).length;
  }
  if (side != Side::left) {
    while (end > begin && strips(previous_start(bytes, end))) end = previous_start(bytes, end);
  }
  return text.slice(begin, end);
}

class Splitter {  // pays for each part
 public:
  Splitter(Budget& budget, const Text& text) : budget_(budget), text_(text) {}
  void add(std::size_t begin, std::size_t end) {
    budget_.step();
    budget_.build(end - begin + sizeof(Value) + 2 * sizeof(Text));
    parts.emplace_back(text_.slice(begin, end));
  }
  std::vector<Value> parts;

 private:
  Budget& budget_;
  const Text& text_;
};

// At white space, as str.split() does without a separator; `most` splits, all if negative.
inline std::vector<Value> split_at_space(Budget& budget, const Text& text, std::int64_t most) {
  const std::string_view bytes = text.view();
  Splitter splitter(budget, text);
  std::size_t at = skip_space(bytes, 0, bytes.size());
  while (at < bytes.size()) {
    if (most >= 0 && static_cast<std::int64_t>(splitter.parts.size()) == most) {
      splitter.add(at, bytes.size());
      break;
    }
    std::size_t end = at;
    while (end < bytes.size() && !is_space(decode_at(bytes, end).value)) end += decode_at(bytes, end).length;
    splitter.add(at, end);
    at = skip_space(bytes, end, bytes.size());
  }
  return std::move(splitter.parts);
}

inline std::vector<Value> rsplit_at_space(Budget& budget, const Text& text, std::int64_t most) {
  const std::string_view bytes = text.view();
  Splitter splitter(budget, text);
  std::size_t end = skip_space_back(bytes, 0, bytes.size());
  while (end > 0) {
    if (most >= 0 && static_cast<std::int64_t>(splitter.parts.size()) == most) {
      splitter.add(0, end);
      break;
    }
    std::size_t begin = end;
    while (begin > 0 && !is_space(decode_at(bytes, previous_start(bytes, begin)).value)) begin = previous_start(bytes, begin);
    splitter.add(begin, end);
    end = skip_space_back(bytes, 0, begin);
  }
  return {splitter.parts.rbegin(), splitter.parts.rend()};
}

inline std::vector<Value> split_at(Budget& budget, const Text& text, std::string_view separator, std::int64_t most) {
  if (separator.empty()) fail("empty separator");
  budget.step(search_steps(text.size(), separator.size()));
  Splitter splitter(budget, text);
  std::size_t begin = 0;
  while (most < 0 || static_cast<std::int64_t>(splitter.parts.size()) < most) {
    const std::size_t at = text.view().find(separator, begin);
    if (at == std::string_view::npos) break;
    splitter.add(begin, at);
    begin = at + separator.size();
  }
  splitter.add(begin, text.size());
  return std::move(splitter.parts);
}

inline std::vector<Value> rsplit_at(Budget& budget, const Text& text, std::string_view separator, std::int64_t most) {
  if (separator.empty()) fail("empty separator");
  budget.step(search_steps(text.size(), separator.size()));
  Splitter splitter(budget, text);
  std::size_t end = text.size();
  while (most < 0 || static_cast<std::int64_t>(splitter.parts.size()) < most) {
    if (end < separator.size()) break;
    const std::size_t at = text.view().rfind(separator, end - separator.size());
    if (at == std::string_view::npos) break;
    splitter.add(at + separator.size(), end);
    end = at;
  }
  splitter.add(0, end);
  return {splitter.parts.rbegin(), splitter.parts.rend()};
}

inline bool is_line_break(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

inline std::vector<Value> split_lines(Budget& budget, const Text& text, bool keep_ends) {
  const std::string_view bytes = text.view();
  Splitter splitter(budget, text);
  std::size_t begin = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const CodePoint c = decode_at(bytes, at);
    std::size_t next = at + c.length;
    if (is_line_break(c.value)) {
      if (c.value == '\r' && next < bytes.size() && bytes[next] == '\n') ++next;
      splitter.add(begin, keep_ends ? next : at);
      begin = next;
    }
    at = next;
  }
  if (begin < bytes.size()) splitter.add(begin, bytes.size());
  return std::move(splitter.parts);
}

// --- building --------------------------------------------------------------------------------------------------------

// `most` replacements, all if negative. An empty `from` stands between all characters.
inline Text replace(Budget& budget, const Text& text, std::string_view from, const Text& to, std::int64_t most) {
  budget.step(search_steps(text.size(), from.size()));
  TextBuilder out(budget);
  std::size_t begin = 0;
  if (from.empty()) {
    for (std::int64_t done = 0; most < 0 || done < most; ++done) {
      out.add(to);
      if (begin == text.size()) return out.take();
      const std::size_t next = begin + decode_at(text.view(), begin).length;
      out.add(text, begin, next);
      begin = next;
    }
  } else {
    for (std::int64_t done = 0; most < 0 || done < most; ++done) {
      const std::size_t at = text.view().find(from, begin);
      if (at == std::string_view::npos) break;
      budget.step();
      out.add(text, begin, at).add(to);
      begin = at + from.size();
    }
  }
  return out.add(text, begin, text.size()).take();
}

inline Text join(Budget& budget, const Text& separator, const std::vector<Value>& items, bool strings_only) {
  TextBuilder out(budget);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (strings_only && !items[i].is_string()) {
      if (items[i].is_undefined()) fail_undefined(items[i]);
      fail("sequence item " + std::to_string(i) + ": expected str instance, " + std::string(items[i].type_name()) + " found");
    }
    if (i > 0) out.add(separator);
    add_str(out, items[i]);
  }
  return out.take();
}

// `before` and `after` fill characters around a text.
inline Text padded(Budget& budget, const Text& text, const Text& fill, std::int64_t before, std::int64_t after) {
  TextBuilder out(budget);
  out.repeat(fill, before > 0 ? static_cast<std::size_t>(before) : 0).add(text);
  return out.repeat(fill, after > 0 ? static_cast<std::size_t>(after) : 0).take();
}

inline Text centered(Budget& budget, const Text& text, std::int64_t width, const Text& fill) {
  const std::int64_t count = static_cast<std::int64_t>(count_code_points(text.view()));
  const std::int64_t room = width > count ? width - count : 0;
  const std::int64_t before = room / 2 + (room & width & 1);
  return padded(budget, text, fill, before, room - before);
}

enum class Case : std::uint8_t { upper, lower, title, swap, fold };

inline void add_in_case(TextBuilder& out, const Text& text, std::size_t at, std::size_t end, Case to) {
  std::string mapped;
  add_mapped(mapped, decode_at(text.view(), at).value,
             to == Case::upper   ? Letter::upper
             : to == Case::title ? Letter::title
                                 : Letter::lower);
  out.add(mapped, text.any_typed(at, end));
}

inline Text in_case(Budget& budget, const Text& text, Case to) {
  TextBuilder out(budget);
  bool after_letter = false;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_at(text.view(), at);
    Case wanted = to;
    if (to == Case::swap) wanted = is_lower_letter(c.value) ? Case::upper : Case::lower;
    if (to == Case::title) wanted = after_letter ? Case::lower : Case::title;
    after_letter = is_cased(c.value);
    add_in_case(out, text, at, at + c.length, wanted);
    at += c.length;
  }
  return out.take();
}

inline Text capitalized(Budget& budget, const Text& text) {
  TextBuilder out(budget);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = at + decode_at(text.view(), at).length;
    add_in_case(out, text, at, next, at == 0 ? Case::title : Case::lower);
    at = next;
  }
  return out.take();
}

}  // namespace diecast::chat
