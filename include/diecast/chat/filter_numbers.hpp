// Filters that give numbers, or any value: abs, default, int, float, length, round, sum, ...
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <diecast/chat/arguments.hpp>
#include <diecast/chat/format.hpp>
#include <diecast/chat/interpreter.hpp>
#include <diecast/chat/python.hpp>

namespace diecast::chat {

inline Value filter_abs(Interpreter&, const Value& value, Arguments& arguments) {
  Bound bound("abs", arguments, {});
  if (value.is_undefined()) fail_undefined(value);
  if (value.is_real()) return std::fabs(value.as_real());
  if (!value.is_integral()) fail("bad operand type for abs(): " + quoted_type(value));
  return value.as_int() < 0 ? integer_arithmetic(Operator::sub, 0, value.as_int()) : Value(value.as_int());
}

inline Value filter_default(Interpreter&, const Value& value, Arguments& arguments) {
  Bound bound("default", arguments, {"default_value", "boolean"});
  return value.is_undefined() || (bound.flag(1) && !truth(value)) ? bound.value_or(0, Value::plain("")) : value;
}

inline Value filter_length(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("length", arguments, {});
  if (value.is_string()) interpreter.budget().step(value.as_text().size() / 64);
  if (Value result; value.is_object() && value.as_object()->type_name() == "LoopContext" && value.as_object()->attribute("length", result))
    return result;
  return length(value);
}

inline Value filter_int(Interpreter&, const Value& value, Arguments& arguments) {
  Bound bound("int", arguments, {"default", "base"});
  const Value otherwise = bound.value_or(0, 0);
  if (value.is_undefined()) fail_undefined(value);
  if (value.is_integral()) return value.as_int();
  double real = 0;
  if (value.is_string()) {
    std::int64_t whole = 0;
    if (parse_integer(value.as_text().view(), static_cast<int>(bound.integer_or(1, 10)), whole)) return whole;
    if (!parse_real(value.as_text().view(), real)) return otherwise;
  } else if (value.is_real()) {
    real = value.as_real();
  } else {
    return otherwise;
  }
  return std::isfinite(real) ? Value(real_to_integer(real)) : otherwise;
}

inline Value filter_float(Interpreter&, const Value& value, Arguments& arguments) {
  Bound bound("float", arguments, {"default"});
  if (value.is_undefined()) fail_undefined(value);
  if (value.is_number()) return value.as_real();
  double real = 0;
  if (value.is_string() && parse_real(value.as_text().view(), real)) return real;
  return bound.value_or(0, 0.0);
}

inline Value filter_round(Interpreter&, const Value& value, Arguments& arguments) {
  Bound bound("round", arguments, {"precision", "method"});
  const std::string_view method = bound.has(1) ? bound.text(1).view() : "common";
  if (method != "common" && method != "ceil" && method != "floor") fail("method must be common, ceil or floor");
  if (value.is_undefined()) fail_undefined(value);
  if (!value.is_number()) fail("type " + std::string(value.type_name()) + " doesn't define __round__ method");
  const std::int64_t precision = bound.integer_or(0, 0);
  if (method == "common") {
    if (value.is_real()) return round_real(value.as_real(), precision);
    if (precision >= 0) return value.as_int();
    if (precision < -18) return 0;
    const std::int64_t unit = integer_power(10, -precision);
    std::int64_t rest = integer_modulo(value.as_int(), unit);
    const bool odd = integer_modulo(integer_arithmetic(Operator::floordiv, value.as_int(), unit).as_int(), 2) != 0;
    if (rest * 2 > unit || (rest * 2 == unit && odd)) rest -= unit;
    return integer_arithmetic(Operator::sub, value.as_int(), rest);
  }
  const double unit = std::pow(10.0, static_cast<double>(precision));
  if (unit == 0 || !std::isfinite(unit)) fail("the precision " + std::to_string(precision) + " of round is out of range");
  const double scaled = value.as_real() * unit;
  const double whole = method == "ceil" ? std::ceil(scaled) : std::floor(scaled);
  real_to_integer(whole);  // NaN, infinities and what does not fit are refused as in Python
  return whole / unit;
}

inline Value filter_filesizeformat(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("filesizeformat", arguments, {"binary"});
  const bool binary = bound.flag(0);
  Arguments none;
  if (!value.is_number() && !value.is_string()) fail("float() argument must be a string or a real number, not " + quoted_type(value));
  if (double real = 0; value.is_string() && !parse_real(value.as_text().view(), real)) fail("could not convert string to float");
  const double bytes = filter_float(interpreter, value, none).as_real();
  const double base = binary ? 1024 : 1000;
  if (bytes == 1) return Value::plain("1 Byte");
  if (bytes < base) return Value::plain(std::to_string(real_to_integer(bytes)) + " Bytes");
  double unit = base;
  for (const char prefix : std::string_view("kMGTPEZY")) {
    unit *= base;
    if (bytes < unit || prefix == 'Y') {
      const std::string name = binary ? std::string(1, prefix == 'k' ? 'K' : prefix) + "iB" : std::string(1, prefix) + "B";
      return Value::plain(fixed_text(base * bytes / unit, 'f', 1, false) + " " + name);
    }
  }
  return {};
}

}  // namespace diecast::chat
