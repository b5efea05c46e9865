// `tojson` as HF transformers replaces it: Python's json.dumps with ensure_ascii False unless asked, nothing escaped for HTML.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <diecast/chat/arguments.hpp>
#include <diecast/chat/budget.hpp>
#include <diecast/chat/python.hpp>
#include <diecast/chat/value.hpp>

namespace diecast::chat {

struct JsonStyle {
  bool ascii = false;
  bool sort_keys = false;
  std::optional<Text> indent;  // of one level; without it all is one line
  Text between = Text::plain(", ");
  Text after_key = Text::plain(": ");
};

class JsonWriter {
 public:
  JsonWriter(TextBuilder& out, const JsonStyle& style) : out_(out), style_(style) {}

  void write(const Value& value) {
    out_.budget().step();
    if (value.is_none()) {
      out_.add("null");
    } else if (value.is_bool()) {
      out_.add(value.as_bool() ? "true" : "false");
    } else if (value.is_int()) {
      out_.add(integer_text(value.as_int()));
    } else if (value.is_real()) {
      out_.add(number(value.as_real()));
    } else if (value.is_string()) {
      string(value.as_text());
    } else if (value.is_list() && value.as_list().kind <= ListKind::group && !value.is_list(ListKind::range)) {
      list(value.as_list());
    } else if (value.is_dict()) {
      dict(value.as_dict());
    } else {
      fail("Object of type " + std::string(value.type_name()) + " is not JSON serializable");
    }
  }

 private:
  static std::string number(double value) {
    const std::string text = real_text(value);
    return text == "nan" ? "NaN" : text == "inf" ? "Infinity" : text == "-inf" ? "-Infinity" : text;
  }

  void string(const Text& text) {
    const std::string_view bytes = text.view();
    out_.add("\"");
    std::size_t begin = 0;  // of what goes out as it is
    for (std::size_t at = 0; at < bytes.size();) {
      const CodePoint c = decode_at(bytes, at);
      if (c.value == '"' || c.value == '\\' || c.value < 0x20 || (style_.ascii && c.value >= 0x7F)) {
        out_.add(text, begin, at);
        out_.add(escape(c.value), text.any_typed(at, at + c.length));
        begin = at + c.length;
      }
      at += c.length;
    }
    out_.add(text, begin, bytes.size());
    out_.add("\"");
  }

  std::string escape(char32_t c) const {
    switch (c) {
      case '"': return "\\\"";
      case '\\': return "\\\\";
      case '\n': return "\\n";
      case '\r': return "\\r";
      case '\t': return "\\t";
      case '\f': return "\\f";
      case '\b': return "\\b";
      case 0x7F: return "\x7F";
      default: break;
    }
    const auto code = static_cast<std::uint32_t>(c);
    if (code < 0x10000) return "\\u" + hexadecimal(code, 4);
    return "\\u" + hexadecimal(0xD800 + ((code - 0x10000) >> 10), 4) + "\\u" + hexadecimal(0xDC00 + ((code - 0x10000) & 0x3FF), 4);
  }

  void new_line() {
    if (!style_.indent) return;
    out_.add("\n");
    for (int i = 0; i < level_; ++i) out_.add(*style_.indent);
  }

  void list(const List& list) {
    if (list.items.empty()) {
      out_.add("[]");
      return;
    }
    out_.add("[");
    ++level_;
    new_line();
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) separate();
      write(list.items[i]);
    }
    --level_;
    new_line();
    out_.add("]");
  }

  void separate() {
    out_.add(style_.between);
    new_line();
  }

  void dict(const Dict& dict) {
    if (dict.entries.empty()) {
      out_.add("{}");
      return;
    }
    auto entries = dict.entries;
    if (style_.sort_keys) {
      Budget& budget = out_.budget();
      std::stable_sort(entries.begin(), entries.end(), [&](const auto& a, const auto& b) { return less(budget, a.first, b.first); });
    }
    out_.add("{");
    ++level_;
    new_line();
    bool first = true;
    for (const auto& [key, value] : entries) {
      if (!std::exchange(first, false)) separate();
      this->key(key);
      out_.add(style_.after_key);
      write(value);
    }
    --level_;
    new_line();
    out_.add("}");
  }

  void key(const Value& key) {
    if (key.is_string()) return string(key.as_text());
    if (!key.is_none() && !key.is_number()) fail("keys must be str, int, float, bool or None, not " + std::string(key.type_name()));
    out_.add("\"");
    write(key);
    out_.add("\"");
  }

  TextBuilder& out_;
  const JsonStyle& style_;
  int level_ = 0;
};

inline Value to_json(Budget& budget, const Value& value, Arguments& arguments) {
  Bound bound("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ascii = bound.flag(0);
  style.sort_keys = bound.flag(3);
  if (bound.given(1)) {
    const Value& indent = bound.need(1);
    const std::int64_t width = indent.is_string() ? 0 : bound.integer(1);
    TextBuilder level(budget);
    style.indent =
        indent.is_string() ? indent.as_text() : level.repeat(Text::plain(" "), static_cast<std::size_t>(width > 0 ? width : 0)).take();
    style.between = Text::plain(",");
  }
  if (bound.given(2)) {
    const auto both = items_of(budget, bound.need(2));
    if (both.size() != 2 || !both[0].is_string() || !both[1].is_string()) fail("separators of tojson must be two strings");
    style.between = both[0].as_text();
    style.after_key = both[1].as_text();
  }
  TextBuilder out(budget);
  JsonWriter(out, style).write(value);
  return Value(out.take());
}

}  // namespace diecast::chat
