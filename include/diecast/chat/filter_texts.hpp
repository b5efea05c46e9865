// Filters that give text: case, trimming, joining, indenting, escaping, `tojson`. As Jinja does, most take any value by its str().
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <diecast/chat/arguments.hpp>
#include <diecast/chat/attribute_path.hpp>
#include <diecast/chat/format.hpp>
#include <diecast/chat/interpreter.hpp>
#include <diecast/chat/json.hpp>
#include <diecast/chat/strings.hpp>

namespace diecast::chat {

inline const Text& text_of(const Value& value, std::string_view filter) {
  if (value.is_undefined()) fail_undefined(value);
  if (!value.is_string()) fail("the filter '" + std::string(filter) + "' needs a string, not " + std::string(value.type_name()));
  return value.as_text();
}

template <Case To>
Value case_filter(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound(To == Case::upper ? "upper" : "lower", arguments, {});
  return Value(in_case(interpreter.budget(), str(interpreter.budget(), value), To));
}
inline constexpr FilterBody filter_upper = case_filter<Case::upper>;
inline constexpr FilterBody filter_lower = case_filter<Case::lower>;

inline Value filter_capitalize(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("capitalize", arguments, {});
  return Value(capitalized(interpreter.budget(), str(interpreter.budget(), value)));
}

// Jinja's own title: words begin after blanks and opening brackets, not after every sign that is no letter.
inline Value filter_title(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("title", arguments, {});
  const Text text = str(interpreter.budget(), value);
  TextBuilder out(interpreter.budget());
  bool first = true;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_at(text.view(), at);
    const bool border = is_space(c.value) || std::u32string_view(U"-({[<").find(c.value) != std::u32string_view::npos;
    add_in_case(out, text, at, at + c.length, first && !border ? Case::upper : Case::lower);
    first = border;
    at += c.length;
  }
  return Value(out.take());
}

inline Value filter_trim(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("trim", arguments, {"chars"});
  const Text text = str(interpreter.budget(), value);
  interpreter.budget().build(text.size());
  if (bound.given(0)) interpreter.budget().step(text.size() * bound.text(0).size() / 16);
  return Value(strip(text, bound.given(0) ? &bound.text(0) : nullptr, Side::both));
}

inline Value filter_string(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("string", arguments, {});
  return value.is_string() ? value : Value(str(interpreter.budget(), value));
}

inline Value filter_replace(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("replace", arguments, {"old", "new", "count"});
  Budget& budget = interpreter.budget();
  const std::int64_t most = bound.given(2) ? bound.integer(2) : -1;
  return Value(replace(budget, str(budget, value), str(budget, bound.need(0)).view(), str(budget, bound.need(1)), most));
}

inline Value filter_join(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("join", arguments, {"d", "attribute"});
  Budget& budget = interpreter.budget();
  auto items = items_of(budget, value);
  if (bound.given(1)) {
    const AttributePath path(budget, bound.need(1));
    for (Value& item : items) item = path.of(interpreter, item);
  }
  return Value(join(budget, str(budget, bound.value_or(0, Value::plain(""))), items, false));
}

inline Value filter_center(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("center", arguments, {"width"});
  return Value(centered(interpreter.budget(), str(interpreter.budget(), value), bound.integer_or(0, 80), Text::plain(" ")));
}

inline Value filter_indent(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("indent", arguments, {"width", "first", "blank"});
  Budget& budget = interpreter.budget();
  const Text& text = text_of(value, "indent");
  TextBuilder margin(budget);
  if (bound.has(0) && bound.need(0).is_string()) {
    margin.add(bound.text(0));
  } else {
    margin.repeat(Text::plain(" "), static_cast<std::size_t>(std::max<std::int64_t>(bound.integer_or(0, 4), 0)));
  }
  TextBuilder ended(budget);  // a line break at the end, so that an empty last line counts
  ended.add(text).add("\n");
  const auto lines = split_lines(budget, ended.text(), false);
  TextBuilder out(budget);
  if (bound.flag(1)) out.add(margin.text());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Text& line = lines[i].as_text();
    if (i > 0) out.add("\n");
    if (i > 0 && (bound.flag(2) || !line.empty())) out.add(margin.text());
    out.add(line);
  }
  return Value(out.take());
}

inline Value filter_truncate(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("truncate", arguments, {"length", "killwords", "end", "leeway"});
  Budget& budget = interpreter.budget();
  const std::int64_t most = bound.integer_or(0, 255);
  const Text end = bound.has(2) ? bound.text(2) : Text::plain("...");
  const auto end_size = static_cast<std::int64_t>(count_code_points(end.view()));
  const std::int64_t leeway = bound.given(3) ? bound.integer(3) : 5;
  if (most < end_size) fail("expected length >= " + std::to_string(end_size) + ", got " + std::to_string(most));
  if (leeway < 0) fail("expected leeway >= 0, got " + std::to_string(leeway));
  const std::int64_t size = length(value);
  if (size <= most || size - most <= leeway) return value;
  const Text& text = text_of(value, "truncate");
  const auto starts = code_point_starts(budget, text.view());
  std::size_t cut = starts[static_cast<std::size_t>(most - end_size)];
  if (!bound.flag(1)) {
    const std::size_t blank = text.view().substr(0, cut).rfind(' ');
    if (blank != std::string_view::npos) cut = blank;
  }
  TextBuilder out(budget);
  return Value(out.add(text, 0, cut).add(end).take());
}

inline Value filter_wordcount(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("wordcount", arguments, {});
  const Text text = str(interpreter.budget(), value);
  std::int64_t words = 0;
  bool inside = false;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_at(text.view(), at);
    const bool word = is_word(c.value);
    if (word && !inside) ++words;
    inside = word;
    at += c.length;
  }
  return words;
}

inline Value filter_escape(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("escape", arguments, {});
  const Text text = str(interpreter.budget(), value);
  return Value(text.is_markup() ? text : escaped_text(interpreter.budget(), text));
}

inline Value filter_safe(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("safe", arguments, {});
  return Value(str(interpreter.budget(), value).as_markup());
}

// Comments and tags go, white space becomes single blanks, the common entities become their characters.
inline Value filter_striptags(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("striptags", arguments, {});
  Budget& budget = interpreter.budget();
  const Text text = str(budget, value);
  const auto without = [&](const Text& from, std::string_view begin, std::string_view end) {
    TextBuilder out(budget);
    std::size_t at = 0;
    while (true) {
      const std::size_t open = from.view().find(begin, at);
      const std::size_t close = open == std::string_view::npos ? open : from.view().find(end, open);
      if (close == std::string_view::npos) break;
      out.add(from, at, open);
      at = close + end.size();
    }
    return out.add(from, at, from.size()).take();
  };
  const Text bare = without(without(text, "<!--", "-->"), "<", ">");
  const Text spaced = join(budget, Text::plain(" "), split_at_space(budget, bare, -1), true);
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> entities{
      {{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#34;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}}};
  TextBuilder out(budget);
  for (std::size_t at = 0; at < spaced.size();) {
    const auto* const entity = std::find_if(entities.begin(), entities.end(),
                                            [&](const auto& pair) { return spaced.view().substr(at, pair.first.size()) == pair.first; });
    const std::size_t next = at + (entity == entities.end() ? 1 : entity->first.size());
    if (entity == entities.end()) {
      out.add(spaced, at, next);
    } else {
      out.add(entity->second, spaced.any_typed(at, next));
    }
    at = next;
  }
  return Value(out.take());
}

inline void add_quoted(TextBuilder& out, const Text& text, bool in_query) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text.view()[at];
    const bool safe = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '-' ||
                      c == '~' || (c == '/' && !in_query);
    if (safe) {
      out.add(text, at, at + 1);
    } else if (c == ' ' && in_query) {
      out.add("+", text.any_typed(at, at + 1));
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out.add(std::string("%") + "0123456789ABCDEF"[byte >> 4] + "0123456789ABCDEF"[byte & 15], text.any_typed(at, at + 1));
    }
  }
}

inline Value filter_urlencode(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("urlencode", arguments, {});
  Budget& budget = interpreter.budget();
  TextBuilder out(budget);
  if (value.is_string() || !iterable(value)) {
    add_quoted(out, str(budget, value), false);
    return Value(out.take());
  }
  std::vector<Value> pairs;
  if (value.is_dict()) {
    for (const auto& [key, item] : value.as_dict().entries) pairs.push_back(make_tuple(budget, {key, item}));
  } else {
    pairs = items_of(budget, value);
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto both = items_of(budget, pairs[i]);
    if (both.size() != 2) fail("urlencode needs pairs of a key and a value");
    if (i > 0) out.add("&");
    add_quoted(out, str(budget, both[0]), true);
    out.add("=");
    add_quoted(out, str(budget, both[1]), true);
  }
  return Value(out.take());
}

inline Value filter_format(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Budget& budget = interpreter.budget();
  if (!arguments.positional.empty() && !arguments.named.empty()) fail("can't handle positional and keyword arguments at the same time");
  const Text format = str(budget, value);
  if (arguments.named.empty()) return Value(format_percent(budget, format, make_tuple(budget, std::move(arguments.positional))));
  Dict names;
  for (auto& [name, item] : arguments.named) names.set(Value(name), std::move(item));
  return Value(format_percent(budget, format, Value(std::move(names))));
}

inline Value filter_tojson(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  if (value.is_undefined()) fail("Object of type Undefined is not JSON serializable");
  return to_json(interpreter.budget(), value, arguments);
}

inline Value filter_pprint(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("pprint", arguments, {});
  TextBuilder out(interpreter.budget());
  add_repr(out, value);
  return Value(out.take());
}

}  // namespace diecast::chat
