// Python's two ways to format: "%s: %5.2f" % (a, b) and "{}: {:>5.2f}".format(a, b).
// What a typed format string asks for (fill characters, say) counts as typed too, and a character made from a number always does.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <diecast/chat/arguments.hpp>
#include <diecast/chat/budget.hpp>
#include <diecast/chat/interpreter.hpp>
#include <diecast/chat/python.hpp>
#include <diecast/chat/strings.hpp>

namespace diecast::chat {

struct FormatSpec {
  Text fill = Text::plain(" ");
  char align = '\0';  // < > = ^
  char sign = '\0';   // + or blank
  bool alternate = false;
  std::int64_t width = 0;
  char grouping = '\0';
  std::int64_t precision = -1;
  char type = '\0';
};

inline constexpr std::int64_t most_digits = 500;  // of a number's precision: more says nothing about a double

inline std::string fixed_text(double value, char type, std::int64_t precision, bool alternate) {
  if (!std::isfinite(value)) {
    const bool large = type == 'F' || type == 'E' || type == 'G';
    const std::string text = std::isnan(value) ? "nan" : "inf";
    return large ? (text == "nan" ? "NAN" : "INF") : text;
  }
  if (precision > most_digits)
    fail("a number cannot be formatted with more than " + std::to_string(most_digits) + " digits, asked for " + std::to_string(precision));
  const char kind = static_cast<char>(type | 0x20);
  const auto format = kind == 'e' ? std::chars_format::scientific : kind == 'g' ? std::chars_format::general : std::chars_format::fixed;
  int digits = static_cast<int>(precision < 0 ? 6 : precision);
  if (kind == 'g' && digits == 0) digits = 1;
  std::array<char, 1024> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format, digits);
  std::string text(buffer.data(), written.ptr);
  if (alternate && text.find('.') == std::string::npos) text.insert((std::min)(text.find('e'), text.size()), ".");
  if (type == 'E' || type == 'G') {
    for (char& c : text) c = c == 'e' ? 'E' : c;
  }
  return text;
}

inline std::string grouped(std::string digits, char separator, std::size_t group) {
  for (std::size_t at = digits.size(); at > group;) {
    at -= group;
    digits.insert(at, 1, separator);
  }
  return digits;
}

inline std::string digits_in(std::uint64_t value, unsigned base, bool large) {
  const std::string_view signs = large ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string text;
  do {
    text += signs[static_cast<std::size_t>(value % base)];
    value /= base;
  } while (value != 0);
  std::reverse(text.begin(), text.end());
  return text;
}

// Sign or prefix and digits, padded as the spec says.
inline void add_number(TextBuilder& out, const std::string& prefix, const std::string& digits, const FormatSpec& spec, bool typed) {
  const auto size = static_cast<std::int64_t>(prefix.size() + digits.size());
  const std::int64_t room = spec.width > size ? spec.width - size : 0;
  const char align = spec.align == '\0' ? '>' : spec.align;
  TextBuilder fill(out.budget());
  const std::int64_t before = align == '<' ? 0 : align == '^' ? room / 2 : room;
  if (align == '=') out.add(prefix, typed);
  out.repeat(spec.fill, static_cast<std::size_t>(before));
  if (align != '=') out.add(prefix, typed);
  out.add(digits, typed).repeat(spec.fill, static_cast<std::size_t>(room - before));
}

inline void add_integer(TextBuilder& out, std::int64_t value, const FormatSpec& spec, bool typed) {
  const std::uint64_t size = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  const unsigned base = spec.type == 'x' || spec.type == 'X' ? 16 : spec.type == 'o' ? 8 : spec.type == 'b' ? 2 : 10;
  std::string digits = digits_in(size, base, spec.type == 'X');
  if (spec.precision > static_cast<std::int64_t>(digits.size())) {  // only of `%`
    if (spec.precision > most_digits)
      fail("a number cannot be formatted with more than " + std::to_string(most_digits) + " digits, asked for " +
           std::to_string(spec.precision));
    digits.insert(0, static_cast<std::size_t>(spec.precision) - digits.size(), '0');
  }
  if (spec.grouping != '\0') digits = grouped(std::move(digits), spec.grouping, base == 10 ? 3 : 4);
  std::string prefix = value < 0 ? "-" : spec.sign != '\0' ? std::string(1, spec.sign) : "";
  if (spec.alternate && base != 10) prefix += std::string("0") + spec.type;
  add_number(out, prefix, digits, spec, typed);
}

inline void add_real(TextBuilder& out, double value, const FormatSpec& spec, bool typed) {
  const bool negative = std::signbit(value) && !std::isnan(value);
  const double size = negative ? -value : value;
  std::string digits;
  if (spec.type == '\0') {
    if (spec.precision < 0) {
      digits = real_text(size);
    } else {
      digits = fixed_text(size, 'g', spec.precision, spec.alternate);
      if (digits.find_first_of(".en") == std::string::npos) digits += ".0";
    }
  } else if (spec.type == '%') {
    digits = fixed_text(size * 100, 'f', spec.precision, spec.alternate) + "%";
  } else {
    digits = fixed_text(size, spec.type == 'n' ? 'g' : spec.type, spec.precision, spec.alternate);
  }
  if (spec.grouping != '\0' && std::isfinite(value)) {
    const std::size_t whole = (std::min)(digits.find_first_not_of("0123456789"), digits.size());
    digits = grouped(digits.substr(0, whole), spec.grouping, 3) + digits.substr(whole);
  }
  add_number(out, negative ? "-" : spec.sign != '\0' ? std::string(1, spec.sign) : "", digits, spec, typed);
}

inline void add_text(TextBuilder& out, const Text& text, const FormatSpec& spec, bool typed) {
  std::size_t end = 0;
  std::int64_t count = 0;
  while (end < text.size() && (spec.precision < 0 || count < spec.precision)) {
    end += decode_at(text.view(), end).length;
    ++count;
  }
  const std::int64_t room = spec.width > count ? spec.width - count : 0;
  const std::int64_t before = spec.align == '>' ? room : spec.align == '^' ? room / 2 : 0;
  out.repeat(spec.fill, static_cast<std::size_t>(before));
  if (typed) {
    out.add(text.view().substr(0, end), true);
  } else {
    out.add(text, 0, end);
  }
  out.repeat(spec.fill, static_cast<std::size_t>(room - before));
}

inline std::string character(std::int64_t code) {
  if (code < 0 || code > 0x10FFFF) fail("%c arg not in range(0x110000)");
  std::string text;
  append_character(text, static_cast<char32_t>(code));
  return text;
}

// --- "..." % values ----------------------------------------------------------------------------------------------------

class PercentFormatter {
 public:
  PercentFormatter(Budget& budget, const Text& format, const Value& values) : format_(format), values_(values), out_(budget) {}

  Text run() {
    const std::string_view text = format_.view();
    while (at_ < text.size()) {
      const std::size_t percent = (std::min)(text.find('%', at_), text.size());
      out_.add(format_, at_, percent);
      at_ = percent;
      if (at_ < text.size()) one();
    }
    // Python lets anything with subscripts pass here unused, lists too.
    const bool single = !is_tuple(values_) && !values_.is_dict() && !values_.is_undefined() &&
                        !(values_.is_list() && values_.as_list().kind <= ListKind::group);
    if (is_tuple(values_) ? used_ < values_.as_list().items.size() : single && used_ == 0)
      fail("not all arguments converted during string formatting");
    return out_.take();
  }

 private:
  char peek() const {
    if (at_ >= format_.size()) fail("incomplete format");
    return format_.view()[at_];
  }

  Value next() {
    if (is_tuple(values_)) {
      if (used_ >= values_.as_list().items.size()) fail("not enough arguments for format string");
      return values_.as_list().items[used_++];
    }
    if (used_++ > 0) fail("not enough arguments for format string");
    return values_;
  }

  std::int64_t number() {
    if (peek() == '*') {
      ++at_;
      const Value value = next();
      if (!value.is_integral()) fail("* wants int");
      return value.as_int();
    }
    std::int64_t value = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) {
      value = value * 10 + (peek() - '0');
      if (value > 0x7FFFFFFF) fail("width too big in format string");
    }
    return value;
  }

  void one() {
    const std::size_t begin = at_++;
    FormatSpec spec;
    bool keyed = false;
    Value value;
    if (peek() == '(') {
      const std::size_t close = format_.view().find(')', at_);
      if (close == std::string_view::npos) fail("incomplete format key");
      if (!values_.is_dict()) fail("format requires a mapping");
      const std::string_view key = format_.view().substr(at_ + 1, close - at_ - 1);
      const Value* found = values_.as_dict().find(key);
      if (found == nullptr) fail("no key '" + std::string(key) + "' for the format string");
      value = *found;
      keyed = true;
      at_ = close + 1;
    }
    bool zero = false;
    for (; std::string_view("-+ #0").find(peek()) != std::string_view::npos; ++at_) {
      if (peek() == '-') spec.align = '<';
      if (peek() == '+' || (peek() == ' ' && spec.sign == '\0')) spec.sign = peek();
      if (peek() == '#') spec.alternate = true;
      if (peek() == '0') zero = true;
    }
    spec.width = number();
    if (spec.width < 0) {
      spec.align = '<';
      spec.width = -spec.width;
    }
    if (peek() == '.') {
      ++at_;
      spec.precision = (std::max<std::int64_t>)(number(), 0);
    }
    while (peek() == 'l' || peek() == 'h' || peek() == 'L') ++at_;
    spec.type = peek();
    ++at_;
    const bool typed = format_.any_typed(begin, at_);
    if (typed) spec.fill = Text::all_typed(" ");
    if (spec.type == '%') {
      out_.add("%", typed);
      return;
    }
    if (!keyed) value = next();
    if (spec.align == '\0') spec.align = '>';
    if (zero && spec.align == '>' && spec.type != 's' && spec.type != 'r' && spec.type != 'a' && spec.type != 'c') {
      spec.align = '=';
      spec.fill = typed ? Text::all_typed("0") : Text::plain("0");
    }
    convert(value, spec, typed);
  }

  void convert(const Value& value, FormatSpec& spec, bool typed) {
    switch (spec.type) {
      case 's': return add_text(out_, str(out_.budget(), value), spec, typed);
      case 'r':
      case 'a': {
        TextBuilder shown(out_.budget());
        add_repr(shown, value);
        return add_text(out_, shown.take(), spec, typed);
      }
      case 'c':
        if (value.is_string() && length(value) == 1) return add_text(out_, value.as_text(), spec, typed);
        if (!value.is_integral()) fail("%c requires int or char");
        return add_text(out_, Text::all_typed(character(value.as_int())), spec, typed);
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        if (value.is_undefined()) fail_undefined(value);
        if (value.is_real() && (spec.type == 'd' || spec.type == 'i' || spec.type == 'u'))
          return add_integer(out_, real_to_integer(value.as_real()), spec, typed);
        if (!value.is_integral())
          fail(std::string("%") + spec.type + " format: a number is required, not " + std::string(value.type_name()));
        return add_integer(out_, value.as_int(), spec, typed);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        if (value.is_undefined()) fail_undefined(value);
        if (!value.is_number()) fail("must be real number, not " + std::string(value.type_name()));
        return add_real(out_, value.as_real(), spec, typed);
      default: fail(std::string("unsupported format character '") + spec.type + "'");
    }
  }

  const Text& format_;
  const Value& values_;
  TextBuilder out_;
  std::size_t at_ = 0;
  std::size_t used_ = 0;
};

inline Text format_percent(Budget& budget, const Text& format, const Value& values) {
  return PercentFormatter(budget, format, values).run();
}

}  // namespace diecast::chat
