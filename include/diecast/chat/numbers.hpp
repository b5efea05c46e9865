// Numbers as Python has them: floor division and modulo that follow the divisor's sign, true division, shortest float text.
// Integers have 64 bits; what does not fit is refused, never wrapped.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>

#include <diecast/chat/node.hpp>
#include <diecast/chat/utf8.hpp>
#include <diecast/chat/value.hpp>

namespace diecast::chat {

[[noreturn]] inline void integer_overflow() { fail("an integer does not fit in 64 bits"); }

inline std::string integer_text(std::int64_t value) { return std::to_string(value); }

// Python's repr of a float: the shortest digits that read back, with an exponent below 1e-4 and from 1e16 on.
inline std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 64> buffer{};
  const auto scientific = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
  std::string text(buffer.data(), scientific.ptr);
  const std::size_t e = text.find('e');
  int exponent = 0;
  const char* first = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(first, text.data() + text.size(), exponent);
  if (exponent < -4 || exponent >= 16) return text;
  const auto fixed = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  text.assign(buffer.data(), fixed.ptr);
  if (text.find('.') == std::string::npos) text += ".0";
  return text;
}

inline std::string_view trimmed(std::string_view text) {
  const std::size_t begin = skip_space(text, 0, text.size());
  return text.substr(begin, skip_space_back(text, begin, text.size()) - begin);
}

// Python's int(text, base): blanks around, a sign, single underscores, a prefix when the base says so. False when it is no integer.
inline bool parse_integer(std::string_view text, int base, std::int64_t& value) {
  text = trimmed(text);
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text.size() > 1 && text[0] == '0') {
    const char c = static_cast<char>(text[1] | 0x20);
    const int radix = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 0;
    if (radix != 0 && (base == 0 || base == radix)) {
      base = radix;
      text.remove_prefix(2);
      if (!text.empty() && text[0] == '_') text.remove_prefix(1);
    }
  }
  if (base == 0) base = 10;
  if (text.empty() || base < 2 || base > 36) return false;
  value = 0;
  bool after_digit = false;
  for (const char c : text) {
    if (c == '_' && after_digit) {
      after_digit = false;
      continue;
    }
    const int digit = c >= '0' && c <= '9' ? c - '0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'z' ? (c | 0x20) - 'a' + 10 : 99;
    if (digit >= base) return false;
    after_digit = true;
    if (__builtin_mul_overflow(value, base, &value) || __builtin_sub_overflow(value, digit, &value)) integer_overflow();
  }
  if (!after_digit) return false;
  if (negative) return true;
  if (__builtin_sub_overflow(std::int64_t{0}, value, &value)) integer_overflow();
  return true;
}

// Python's float(text).
inline bool parse_real(std::string_view text, double& value) {
  text = trimmed(text);
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '_' && i > 0 && i + 1 < text.size() && text[i - 1] >= '0' && text[i - 1] <= '9' && text[i + 1] >= '0' &&
        text[i + 1] <= '9')
      continue;
    digits += text[i];
  }
  bool negative = false;
  std::string_view rest = digits;
  if (!rest.empty() && (rest[0] == '+' || rest[0] == '-')) {
    negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  if (rest.empty() || rest[0] == '+' || rest[0] == '-') return false;
  const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (read.ptr != rest.data() + rest.size() || read.ec == std::errc::invalid_argument) return false;
  if (read.ec == std::errc::result_out_of_range) {  // too large or too small, told apart by the exponent's sign
    const std::size_t e = rest.find_first_of("eE");
    const bool tiny = e != std::string_view::npos ? rest.find('-', e) != std::string_view::npos : rest[0] == '0' || rest[0] == '.';
    value = tiny ? 0.0 : std::numeric_limits<double>::infinity();
  }
  if (negative) value = -value;
  return true;
}

inline std::int64_t real_to_integer(double value) {
  if (std::isnan(value)) fail("cannot convert float NaN to integer");
  if (std::isinf(value)) fail("cannot convert float infinity to integer");
  const double whole = std::trunc(value);
  if (!(whole >= -9223372036854775808.0 && whole < 9223372036854775808.0)) integer_overflow();
  return static_cast<std::int64_t>(whole);
}

inline double real_modulo(double left, double right) {
  double rest = std::fmod(left, right);
  if (rest != 0) {
    if ((rest < 0) != (right < 0)) rest += right;
  } else {
    rest = std::copysign(0.0, right);
  }
  return rest;
}

inline std::int64_t integer_modulo(std::int64_t left, std::int64_t right) {
  if (right == -1) return 0;
  const std::int64_t rest = left % right;
  return rest != 0 && (rest < 0) != (right < 0) ? rest + right : rest;
}

inline std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  while (true) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) integer_overflow();
    exponent >>= 1;
    if (exponent == 0) return result;
    if (__builtin_mul_overflow(base, base, &base)) {
      if (result == 0) return 0;
      integer_overflow();
    }
  }
}

inline Value integer_arithmetic(Operator op, std::int64_t left, std::int64_t right) {
  std::int64_t result = 0;
  switch (op) {
    case Operator::add:
      if (__builtin_add_overflow(left, right, &result)) integer_overflow();
      return result;
    case Operator::sub:
      if (__builtin_sub_overflow(left, right, &result)) integer_overflow();
      return result;
    case Operator::mul:
      if (__builtin_mul_overflow(left, right, &result)) integer_overflow();
      return result;
    case Operator::div:
      if (right == 0) fail("division by zero");
      return static_cast<double>(left) / static_cast<double>(right);
    case Operator::floordiv:
      if (right == 0) fail("integer division or modulo by zero");
      if (right == -1) {
        if (__builtin_sub_overflow(std::int64_t{0}, left, &result)) integer_overflow();
        return result;
      }
      return left / right - ((left % right != 0 && (left < 0) != (right < 0)) ? 1 : 0);
    case Operator::mod:
      if (right == 0) fail("integer division or modulo by zero");
      return integer_modulo(left, right);
    case Operator::pow:
      if (right < 0) {
        if (left == 0) fail("0.0 cannot be raised to a negative power");
        return std::pow(static_cast<double>(left), static_cast<double>(right));
      }
      return integer_power(left, right);
    default: fail("unknown arithmetic");
  }
}

inline Value real_arithmetic(Operator op, double left, double right) {
  switch (op) {
    case Operator::add: return left + right;
    case Operator::sub: return left - right;
    case Operator::mul: return left * right;
    case Operator::div:
      if (right == 0) fail("float division by zero");
      return left / right;
    case Operator::floordiv: {
      if (right == 0) fail("float floor division by zero");
      const double rest = real_modulo(left, right);
      const double quotient = (left - rest) / right;
      return std::floor(quotient) + (quotient - std::floor(quotient) > 0.5 ? 1.0 : 0.0);
    }
    case Operator::mod:
      if (right == 0) fail("float modulo");
      return real_modulo(left, right);
    case Operator::pow: {
      if (left == 0 && right < 0) fail("0.0 cannot be raised to a negative power");
      if (left < 0 && std::isfinite(left) && std::isfinite(right) && right != std::floor(right))
        fail("a negative number to a fractional power is complex");
      const double result = std::pow(left, right);
      if (std::isinf(result) && std::isfinite(left) && std::isfinite(right)) fail("(34, 'Numerical result out of range')");
      return result;
    }
    default: fail("unknown arithmetic");
  }
}

// Python's round(x, digits) of a float: to the nearest decimal, a tie of the exact value to the even digit.
inline double round_real(double value, std::int64_t digits) {
  if (!std::isfinite(value) || digits > 320) return value;
  if (digits < -310) return std::copysign(0.0, value);
  std::array<char, 1024> buffer{};
  if (digits >= 0) {
    const auto written =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, static_cast<int>(digits));
    double rounded = value;
    std::from_chars(buffer.data(), written.ptr, rounded);
    return rounded;
  }
  const double unit = std::pow(10.0, static_cast<double>(-digits));
  return std::nearbyint(value / unit) * unit;
}

}  // namespace diecast::chat
