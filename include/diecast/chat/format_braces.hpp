// "{} {name[0].x!r:>8}".format(...): fields, conversions and the format mini-language of Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <diecast/chat/arguments.hpp>
#include <diecast/chat/format.hpp>
#include <diecast/chat/interpreter.hpp>

namespace diecast::chat {

class BraceFormatter {
 public:
  BraceFormatter(Interpreter& interpreter, Arguments& arguments) : interpreter_(interpreter), arguments_(arguments) {}

  Text run(const Text& format, int depth = 2) {
    if (depth == 0) fail("Max string recursion exceeded");
    const std::string_view text = format.view();
    TextBuilder out(interpreter_.budget());
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t brace = (std::min)(text.find_first_of("{}", at), text.size());
      out.add(format, at, brace);
      if (brace == text.size()) break;
      if (brace + 1 < text.size() && text[brace + 1] == text[brace]) {
        out.add(format, brace, brace + 1);
        at = brace + 2;
        continue;
      }
      if (text[brace] == '}') fail("Single '}' encountered in format string");
      std::size_t close = brace + 1;
      for (int open = 1; close < text.size(); ++close) {
        if (text[close] == '{') ++open;
        if (text[close] == '}' && --open == 0) break;
      }
      if (close >= text.size()) fail("expected '}' before end of string");
      field(out, format.slice(brace + 1, close), depth);
      at = close + 1;
    }
    return out.take();
  }

 private:
  void field(TextBuilder& out, const Text& field, int depth) {
    const std::string_view text = field.view();
    std::size_t end = 0;  // of the name; brackets may hold any of the signs
    for (bool bracket = false; end < text.size() && (bracket || (text[end] != ':' && text[end] != '!')); ++end) {
      if (text[end] == '[') bracket = true;
      if (text[end] == ']') bracket = false;
    }
    Value value = named(text.substr(0, end));
    std::size_t at = end;
    if (at < text.size() && text[at] == '!') {
      if (at + 1 >= text.size()) fail("end of string while looking for conversion specifier");
      const char how = text[at + 1];
      TextBuilder shown(interpreter_.budget());
      if (how == 'r' || how == 'a') {
        add_repr(shown, value);
      } else if (how == 's') {
        add_str(shown, value);
      } else {
        fail(std::string("unknown conversion specifier ") + how);
      }
      value = Value(shown.take());
      at += 2;
      if (at < text.size() && text[at] != ':') fail("expected ':' after conversion specifier");
    }
    const Text spec = at < text.size() ? run(field.slice(at + 1, text.size()), depth - 1) : Text{};
    format_value(out, value, spec, field.any_typed());
  }

  Value named(std::string_view name) {
    const std::size_t end = (std::min)(name.find_first_of(".["), name.size());
    const std::string_view first = name.substr(0, end);
    Value value;
    std::int64_t index = 0;
    if (first.empty() || parse_integer(first, 10, index)) {
      if (first.empty() ? numbering_ == 2 : numbering_ == 1)
        fail("cannot switch between automatic field numbering and manual field specification");
      numbering_ = first.empty() ? 1 : 2;
      const auto at = first.empty() ? automatic_++ : static_cast<std::size_t>(index);
      if (at >= arguments_.positional.size()) fail("Replacement index " + std::to_string(at) + " out of range for positional args tuple");
      value = arguments_.positional[at];
    } else {
      bool found = false;
      interpreter_.budget().step(arguments_.named.size());
      for (const auto& [known, argument] : arguments_.named) {
        if (known.view() == first) {
          value = argument;
          found = true;
        }
      }
      if (!found) fail("no argument '" + std::string(first) + "' for the format string");
    }
    for (std::size_t at = end; at < name.size();) {
      if (name[at] == '.') {
        const std::size_t stop = (std::min)(name.find_first_of(".[", at + 1), name.size());
        if (stop == at + 1) fail("Empty attribute in format string");
        value = interpreter_.attribute(value, name.substr(at + 1, stop - at - 1));
        at = stop;
      } else if (name[at] == '[') {
        const std::size_t stop = name.find(']', at);
        if (stop == std::string_view::npos) fail("Missing ']' in format string");
        const std::string_view key = name.substr(at + 1, stop - at - 1);
        std::int64_t number = 0;
        const bool is_number =
            !key.empty() && key.find_first_not_of("0123456789") == std::string_view::npos && parse_integer(key, 10, number);
        value = interpreter_.item(value, is_number ? Value(number) : Value::plain(key));
        at = stop + 1;
      } else {
        fail("Only '.' or '[' may follow ']' in format field specifier");
      }
    }
    return value;
  }

  // [[fill]align][sign][#][0][width][grouping][.precision][type]
  static FormatSpec parse(const Text& spec) {
    const std::string_view text = spec.view();
    const auto is_align = [](char c) { return c == '<' || c == '>' || c == '=' || c == '^'; };
    FormatSpec parsed;
    std::size_t at = 0;
    const std::size_t fill = text.empty() ? 0 : decode_at(text, 0).length;
    if (fill != 0 && fill < text.size() && is_align(text[fill])) {
      parsed.fill = spec.slice(0, fill);
      parsed.align = text[fill];
      at = fill + 1;
    } else if (!text.empty() && is_align(text[0])) {
      parsed.align = text[0];
      at = 1;
    }
    const auto has = [&](char c) { return at < text.size() && text[at] == c; };
    const auto number = [&] {
      std::int64_t value = 0;
      for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
        value = value * 10 + (text[at] - '0');
        if (value > 0x7FFFFFFF) fail("Too many decimal digits in format string");
      }
      return value;
    };
    if (has('+') || has('-') || has(' ')) parsed.sign = text[at] == '-' ? '\0' : text[at], ++at;
    if (has('#')) parsed.alternate = true, ++at;
    if (has('0')) {
      if (parsed.align == '\0') {
        parsed.fill = spec.slice(at, at + 1);
        parsed.align = '0';  // '=' for numbers, '<' for text
      }
      ++at;
    }
    parsed.width = number();
    if (has(',') || has('_')) parsed.grouping = text[at++];
    if (has('.')) {
      const std::size_t digits = ++at;
      parsed.precision = number();
      if (at == digits) fail("Format specifier missing precision");
    }
    if (at < text.size()) parsed.type = text[at++];
    if (at < text.size()) fail("Invalid format specifier '" + std::string(text) + "'");
    return parsed;
  }

  void format_value(TextBuilder& out, const Value& value, const Text& spec_text, bool typed) {
    if (spec_text.empty()) {
      const Text text = str(interpreter_.budget(), value);
      if (value.is_string()) {
        out.add(text);
      } else {
        out.add(text);
      }
      return;
    }
    typed = typed || spec_text.any_typed();
    FormatSpec spec = parse(spec_text);
    if (typed) spec.fill = Text::all_typed(spec.fill.bytes());
    const bool zero = spec.align == '0';
    if (value.is_string() || value.is_undefined()) {
      if (spec.type != '\0' && spec.type != 's') fail(std::string("Unknown format code '") + spec.type + "' for object of type 'str'");
      if (spec.align == '=') fail("'=' alignment not allowed in string format specifier");
      if (spec.sign != '\0') fail("Sign not allowed in string format specifier");
      if (zero) spec.align = '<';
      return add_text(out, str(interpreter_.budget(), value), spec, typed);
    }
    if (zero) spec.align = '=';
    if (!value.is_number() || (value.is_bool() && spec.type == 's'))
      fail("unsupported format string passed to " + std::string(value.type_name()) + ".__format__");
    const bool real = value.is_real() || std::string_view("eEfFgG%").find(spec.type == '\0' ? 'd' : spec.type) != std::string_view::npos;
    if (real) {
      if (spec.type != '\0' && std::string_view("eEfFgG%n").find(spec.type) == std::string_view::npos) {
        fail(std::string("Unknown format code '") + spec.type + "' for object of type 'float'");
      }
      return add_real(out, value.as_real(), spec, typed);
    }
    if (spec.type == 'c') return add_text(out, Text::all_typed(character(value.as_int())), spec, true);
    if (spec.type != '\0' && std::string_view("bdoxXn").find(spec.type) == std::string_view::npos) {
      fail(std::string("Unknown format code '") + spec.type + "' for object of type 'int'");
    }
    if (spec.precision >= 0) fail("Precision not allowed in integer format specifier");
    add_integer(out, value.as_int(), spec, typed);
  }

  Interpreter& interpreter_;
  Arguments& arguments_;
  std::size_t automatic_ = 0;
  int numbering_ = 0;  // 1: automatic, 2: by hand
};

}  // namespace diecast::chat
