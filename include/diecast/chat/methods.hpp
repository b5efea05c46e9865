// The methods that Python's str, dict, list and tuple offer to a template.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <diecast/chat/arguments.hpp>
#include <diecast/chat/format_braces.hpp>
#include <diecast/chat/interpreter.hpp>
#include <diecast/chat/strings.hpp>

namespace diecast::chat {

inline bool is_method_of_text(std::string_view name) {
  static constexpr std::array<std::string_view, 42> names{
      "strip",      "lstrip",       "rstrip",       "split",      "rsplit",   "splitlines", "startswith", "endswith", "replace",
      "find",       "rfind",        "index",        "rindex",     "count",    "upper",      "lower",      "title",    "capitalize",
      "swapcase",   "casefold",     "join",         "format",     "format_map", "removeprefix", "removesuffix", "center", "ljust",
      "rjust",      "zfill",        "partition",    "rpartition", "expandtabs", "isalpha",  "isdigit",    "isalnum",  "isspace",
      "isupper",    "islower",      "isnumeric",    "isdecimal",  "istitle",  "isascii"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

inline bool has_method(const Value& value, std::string_view name) {
  if (value.is_string()) return is_method_of_text(name);
  if (value.is_dict()) return name == "get" || name == "items" || name == "keys" || name == "values" || name == "copy";
  if (value.is_list(ListKind::list)) return name == "index" || name == "count" || name == "copy";
  if (value.is_list() && value.as_list().kind <= ListKind::group) return name == "index" || name == "count";
  return false;
}

// [start, stop) of a search, in bytes; false when it lies outside.
inline bool search_range(Budget& budget, const Text& text, const Bound& bound, std::size_t first, std::size_t& begin, std::size_t& end) {
  begin = 0;
  end = text.size();
  if (!bound.given(first) && !bound.given(first + 1)) return true;
  const auto starts = code_point_starts(budget, text.view());
  const auto count = static_cast<std::int64_t>(starts.size()) - 1;
  const auto place = [&](std::size_t i, std::int64_t otherwise) {
    std::int64_t at = bound.given(i) ? bound.integer(i) : otherwise;
    if (at < 0) at = (std::max<std::int64_t>)(at < -count ? 0 : at + count, 0);
    return at;
  };
  const std::int64_t from = place(first, 0);
  const std::int64_t to = (std::min)(place(first + 1, count), count);
  if (from > count || from > to) return false;
  begin = starts[static_cast<std::size_t>(from)];
  end = starts[static_cast<std::size_t>(to)];
  return true;
}

inline bool starts_or_ends(Budget& budget, const Text& text, std::string_view name, Arguments& arguments) {
  Bound bound(name, arguments, {"prefix", "start", "end"});
  std::size_t begin = 0;
  std::size_t end = 0;
  if (!search_range(budget, text, bound, 1, begin, end)) return false;
  const std::string_view part = text.view().substr(begin, end - begin);
  const auto matches = [&](const Value& value) {
    if (value.is_undefined()) fail_undefined(value);
    if (!value.is_string()) fail(std::string(name) + " first arg must be str or a tuple of str, not " + std::string(value.type_name()));
    const std::string_view wanted = value.as_text().view();
    if (wanted.size() > part.size()) return false;
    return (name == "startswith" ? part.substr(0, wanted.size()) : part.substr(part.size() - wanted.size())) == wanted;
  };
  if (!is_tuple(bound.need(0))) return matches(bound.need(0));
  const auto& items = bound.need(0).as_list().items;
  return std::any_of(items.begin(), items.end(), matches);
}

inline Value find_in_text(Budget& budget, const Text& text, std::string_view name, Arguments& arguments) {
  Bound bound(name, arguments, {"sub", "start", "end"});
  std::size_t begin = 0;
  std::size_t end = 0;
  const std::string_view wanted = bound.text(0).view();
  budget.step(search_steps(text.size(), wanted.size()));
  std::size_t found = std::string_view::npos;
  if (search_range(budget, text, bound, 1, begin, end)) {
    const std::string_view part = text.view().substr(0, end);
    found = name[0] == 'r' ? part.rfind(wanted) : part.find(wanted, begin);
    if (found != std::string_view::npos && found < begin) found = std::string_view::npos;
  }
  if (found != std::string_view::npos) return static_cast<std::int64_t>(count_code_points(text.view().substr(0, found)));
  if (name == "index" || name == "rindex") fail("substring not found");
  return -1;
}

inline Value count_in_text(Budget& budget, const Text& text, Arguments& arguments) {
  Bound bound("count", arguments, {"sub", "start", "end"});
  std::size_t begin = 0;
  std::size_t end = 0;
  if (!search_range(budget, text, bound, 1, begin, end)) return 0;
  const std::string_view part = text.view().substr(begin, end - begin);
  const std::string_view wanted = bound.text(0).view();
  budget.step(search_steps(text.size(), wanted.size()));
  if (wanted.empty()) return static_cast<std::int64_t>(count_code_points(part)) + 1;
  std::int64_t count = 0;
  for (std::size_t at = part.find(wanted); at != std::string_view::npos; at = part.find(wanted, at + wanted.size())) ++count;
  return count;
}

// isalpha and its like: every character, and at least one; for the case tests at least one letter with a case.
inline bool all_are(const Text& text, std::string_view name) {
  bool some = false;
  bool after_cased = false;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_at(text.view(), at);
    const char32_t v = c.value;
    bool fits = true;
    if (name == "isalpha") fits = is_alphabetic(v);
    if (name == "isdigit") fits = is_digit(v);
    if (name == "isdecimal") fits = is_decimal(v);
    if (name == "isnumeric") fits = is_numeric(v);
    if (name == "isalnum") fits = is_alphabetic(v) || is_numeric(v);
    if (name == "isspace") fits = is_space(v);
    if (name == "isascii") fits = v < 0x80;
    if (name == "isupper") fits = !is_lower_letter(v) && !is_title_letter(v);
    if (name == "islower") fits = !is_upper_letter(v) && !is_title_letter(v);
    if (name == "istitle") fits = is_lower_letter(v) ? after_cased : is_cased(v) ? !after_cased : true;
    if (!fits) return false;
    const bool case_test = name == "isupper" || name == "islower" || name == "istitle";
    after_cased = is_cased(v);
    some = some || !case_test || after_cased;
    at += c.length;
  }
  return some || name == "isascii";
}

inline Value partition(Budget& budget, const Text& text, std::string_view name, Arguments& arguments) {
  Bound bound(name, arguments, {"sep"});
  const Text& separator = bound.text(0);
  if (separator.empty()) fail("empty separator");
  const bool last = name[0] == 'r';
  const std::size_t at = last ? text.view().rfind(separator.view()) : text.view().find(separator.view());
  budget.build(text.size() + 3 * sizeof(Text));
  if (at == std::string_view::npos) {
    if (last) return make_tuple(budget, {Value::plain(""), Value::plain(""), Value(text)});
    return make_tuple(budget, {Value(text), Value::plain(""), Value::plain("")});
  }
  const std::size_t end = at + separator.size();
  return make_tuple(budget, {Value(text.slice(0, at)), Value(text.slice(at, end)), Value(text.slice(end, text.size()))});
}

inline Value split_method(Budget& budget, const Text& text, std::string_view name, Arguments& arguments) {
  Bound bound(name, arguments, {"sep", "maxsplit"});
  const std::int64_t most = bound.integer_or(1, -1);
  const bool last = name[0] == 'r';
  if (bound.given(0)) {
    const std::string_view separator = bound.text(0).view();
    return make_list(budget, last ? rsplit_at(budget, text, separator, most) : split_at(budget, text, separator, most));
  }
  return make_list(budget, last ? rsplit_at_space(budget, text, most) : split_at_space(budget, text, most));
}

inline Value adjusted(Budget& budget, const Text& text, std::string_view name, Arguments& arguments) {
  Bound bound(name, arguments, {"width", "fillchar"});
  const std::int64_t width = bound.integer(0);
  const Text fill = name != "zfill" && bound.has(1) ? bound.text(1) : Text::plain(name == "zfill" ? "0" : " ");
  if (count_code_points(fill.view()) != 1) fail("the fill character must be exactly one character long");
  const auto size = static_cast<std::int64_t>(count_code_points(text.view()));
  const std::int64_t room = width > size ? width - size : 0;
  if (name == "center") return Value(centered(budget, text, width, fill));
  if (name == "ljust") return Value(padded(budget, text, fill, 0, room));
  if (name == "rjust") return Value(padded(budget, text, fill, room, 0));
  const std::size_t sign = !text.empty() && (text.view()[0] == '-' || text.view()[0] == '+') ? 1 : 0;
  TextBuilder out(budget);
  out.add(text, 0, sign).repeat(fill, static_cast<std::size_t>(room)).add(text, sign, text.size());
  return Value(out.take());
}

inline Value expand_tabs(Budget& budget, const Text& text, Arguments& arguments) {
  Bound bound("expandtabs", arguments, {"tabsize"});
  const std::int64_t size = bound.integer_or(0, 8);
  TextBuilder out(budget);
  std::int64_t column = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_at(text.view(), at);
    if (c.value == '\t') {
      const std::int64_t blanks = size > 0 ? size - column % size : 0;
      out.repeat(text.any_typed(at, at + 1) ? Text::all_typed(" ") : Text::plain(" "), static_cast<std::size_t>(blanks));
      column += blanks;
    } else {
      out.add(text, at, at + c.length);
      column = c.value == '\n' || c.value == '\r' ? 0 : column + 1;
    }
    at += c.length;
  }
  return Value(out.take());
}

inline Value call_text_method(Interpreter& interpreter, const Text& text, std::string_view name, Arguments& arguments) {
  Budget& budget = interpreter.budget();
  budget.step(1 + text.size() / 64);
  const auto none = [&] { Bound bound(name, arguments, {}); };
  if (name == "strip" || name == "lstrip" || name == "rstrip") {
    Bound bound(name, arguments, {"chars"});
    budget.build(text.size());
    if (bound.given(0)) budget.step(text.size() * bound.text(0).size() / 16);
    return Value(strip(text, bound.given(0) ? &bound.text(0) : nullptr,
                       name == "strip"  ? Side::both
                       : name[0] == 'l' ? Side::left
                                        : Side::right));
  }
  if (name == "split" || name == "rsplit") return split_method(budget, text, name, arguments);
  if (name == "splitlines") {
    Bound bound(name, arguments, {"keepends"});
    return make_list(budget, split_lines(budget, text, bound.flag(0)));
  }
  if (name == "startswith" || name == "endswith") return starts_or_ends(budget, text, name, arguments);
  if (name == "replace") {
    Bound bound(name, arguments, {"old", "new", "count"});
    return Value(replace(budget, text, bound.text(0).view(), bound.text(1), bound.integer_or(2, -1)));
  }
  if (name == "find" || name == "rfind" || name == "index" || name == "rindex") return find_in_text(budget, text, name, arguments);
  if (name == "count") return count_in_text(budget, text, arguments);
  if (name == "join") {
    Bound bound(name, arguments, {"iterable"});
    return Value(join(budget, text, items_of(budget, bound.need(0)), true));
  }
  if (name == "format") return Value(BraceFormatter(interpreter, arguments).run(text));
  if (name == "format_map") {
    Bound bound(name, arguments, {"mapping"});
    if (!bound.need(0).is_dict()) fail("format_map() takes a mapping");
    Arguments inner;
    for (const auto& [key, value] : bound.need(0).as_dict().entries) {
      if (key.is_string()) inner.named.emplace_back(key.as_text(), value);
    }
    return Value(BraceFormatter(interpreter, inner).run(text));
  }
  if (name == "removeprefix" || name == "removesuffix") {
    Bound bound(name, arguments, {"affix"});
    const std::string_view affix = bound.text(0).view();
    const bool front = name == "removeprefix";
    const bool has = affix.size() <= text.size() &&
                     (front ? text.view().substr(0, affix.size()) : text.view().substr(text.size() - affix.size())) == affix;
    budget.build(text.size());
    if (!has) return Value(text);
    return Value(front ? text.slice(affix.size(), text.size()) : text.slice(0, text.size() - affix.size()));
  }
  if (name == "center" || name == "ljust" || name == "rjust" || name == "zfill") return adjusted(budget, text, name, arguments);
  if (name == "partition" || name == "rpartition") return partition(budget, text, name, arguments);
  if (name == "expandtabs") return expand_tabs(budget, text, arguments);
  none();
  if (name == "upper") return Value(in_case(budget, text, Case::upper));
  if (name == "lower" || name == "casefold") return Value(in_case(budget, text, Case::lower));
  if (name == "title") return Value(in_case(budget, text, Case::title));
  if (name == "swapcase") return Value(in_case(budget, text, Case::swap));
  if (name == "capitalize") return Value(capitalized(budget, text));
  return all_are(text, name);
}

inline Value call_dict_method(Budget& budget, const Value& self, std::string_view name, Arguments& arguments) {
  const Dict& dict = self.as_dict();
  if (name == "get") {
    Bound bound(name, arguments, {"key", "default"});
    check_hashable(bound.need(0));
    budget.step(lookup_steps(dict, bound.need(0)));
    const Value* found = dict.find(bound.need(0));
    return found != nullptr ? *found : bound.value_or(1, None{});
  }
  Bound bound(name, arguments, {});
  if (name == "copy") return self;  // it cannot change, so it is its own copy
  budget.step(dict.entries.size());
  std::vector<Value> items;
  for (const auto& [key, value] : dict.entries) {
    items.push_back(name == "keys" ? key : name == "values" ? value : make_tuple(budget, {key, value}));
  }
  return make_list(budget, std::move(items), name == "keys" ? ListKind::keys : name == "values" ? ListKind::values : ListKind::items);
}

inline Value call_list_method(Budget& budget, const Value& self, std::string_view name, Arguments& arguments) {
  const auto& items = self.as_list().items;
  if (name == "copy") {
    Bound bound(name, arguments, {});
    return self;
  }
  Bound bound(name, arguments, {"value"});
  std::int64_t count = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!equal(budget, items[i], bound.need(0))) continue;
    if (name == "index") return static_cast<std::int64_t>(i);
    ++count;
  }
  if (name == "index") fail("the value is not in the " + std::string(self.type_name()));
  return count;
}

inline Value Interpreter::call_method(const Value& self, std::string_view name, Arguments& arguments) {
  Level level(*this);
  budget_.step();
  if (self.is_string()) return call_text_method(*this, self.as_text(), name, arguments);
  if (self.is_dict()) return call_dict_method(budget_, self, name, arguments);
  return call_list_method(budget_, self, name, arguments);
}

}  // namespace diecast::chat
