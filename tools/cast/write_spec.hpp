// A spec as designated initialisers, as a person writes them: fields at their default are left out, a part that is too long for a line gets
// a line for each of its fields. One visitor over Boost.Hana's introspection, so a new field of the spec needs nothing here.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <diecast/spec/walk.hpp>

#include "literals.hpp"

namespace diecast::cast {

constexpr std::size_t line_width = 140;

struct Written {
  std::string key;
  std::string open;             // "diecast::Rope{" or the whole text of a leaf
  std::vector<Written> fields;  // of a part
  bool part = false;

  std::string name() const { return key.empty() ? "" : '.' + key + " = "; }
  std::string on_one_line() const {
    std::string text = name() + open;
    if (!part) return text;
    for (std::size_t i = 0; i < fields.size(); ++i) text += (i == 0 ? "" : ", ") + fields[i].on_one_line();
    return text + '}';
  }
  // Begins at `column`; `after` characters follow on its last line.
  std::string text(std::size_t column, std::size_t after) const {
    std::string line = on_one_line();
    if (!part || column + line.size() + after <= line_width) return line;
    std::string out = name() + open;
    const std::size_t inner = column + out.size();
    for (std::size_t i = 0; i < fields.size(); ++i)
      out += (i == 0 ? "" : ",\n" + std::string(inner, ' ')) + fields[i].text(inner, i + 1 == fields.size() ? after + 1 : 1);
    return out + '}';
  }
};

class WriteParts {
 public:
  Written top;

  template <class T>
  bool leaves_out([[maybe_unused]] const T& value, [[maybe_unused]] const T& standard) const {
    // A number or activation whose standard is nothing's value has none, and is always said.
    constexpr bool has_standard = std::is_same_v<T, bool> || detail::is_optional<T> || (std::is_enum_v<T> && !std::is_same_v<T, Activation>);
    if constexpr (has_standard) return value == standard;
    else if constexpr (std::is_arithmetic_v<T>) return value == standard && standard != T{};
    else return false;
  }
  void begin(std::string_view key, std::string_view type) {
    // Attention is the one part that is neither optional nor one of several: its type need not be said.
    const std::string open = type == "Attention" ? "{" : "diecast::" + std::string(type) + '{';
    open_.push_back({std::string(key), open, {}, true});
  }
  void end() {
    Written done = std::move(open_.back());
    open_.pop_back();
    if (open_.empty()) top = std::move(done);
    else open_.back().fields.push_back(std::move(done));
  }
  template <class T>
  void leaf(std::string_view key, const T& value) {
    open_.back().fields.push_back({std::string(key), text_of_leaf(value), {}, false});
  }
  void absent(std::string_view) {}

 private:
  static std::string text_of_leaf(double value) { return literal(value); }
  static std::string text_of_leaf(int value) { return std::to_string(value); }
  static std::string text_of_leaf(bool value) { return value ? "true" : "false"; }
  template <class E>
    requires std::is_enum_v<E>
  static std::string text_of_leaf(E value) { return "diecast::" + std::string(enum_name<E>()) + "::" + diecast::text_of(value); }
  template <class E>
  static constexpr std::string_view enum_name() {
    if constexpr (std::is_same_v<E, Activation>) return "Activation";
    else if constexpr (std::is_same_v<E, QkNorm>) return "QkNorm";
    else if constexpr (std::is_same_v<E, NormPlacement>) return "NormPlacement";
    else {
      static_assert(std::is_same_v<E, Residual>, "a new enumeration of the spec: give it its name here");
      return "Residual";
    }
  }

  std::vector<Written> open_;
};

template <class T>
Written written(const T& value) {
  WriteParts visitor;
  walk(visitor, "", value);
  return std::move(visitor.top);
}

}  // namespace diecast::cast
