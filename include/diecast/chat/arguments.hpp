// The arguments of a call, and their way to the parameters of a built-in function: by position or by name, as Python does.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <diecast/chat/python.hpp>
#include <diecast/chat/value.hpp>

namespace diecast::chat {

struct NamedArgument {
  Text name;  // a text, since `**` makes names of the keys of a dict that somebody typed
  Value value;
  NamedArgument(Text n, Value v) : name(std::move(n)), value(std::move(v)) {}
};

struct Arguments {
  std::vector<Value> positional;
  std::vector<NamedArgument> named;

  void add_named(std::string_view name, Value value) { named.emplace_back(Text::plain(std::string(name)), std::move(value)); }
};

class Interpreter;
using FilterBody = Value (*)(Interpreter&, const Value&, Arguments&);  // `value | name(arguments)`

class Bound {
 public:
  Bound(std::string_view function, Arguments& arguments, std::initializer_list<std::string_view> names)
      : function_(function), names_(names), values_(names.size()) {
    if (arguments.positional.size() > names_.size()) {
      fail(called() + " takes at most " + std::to_string(names_.size()) + " arguments, got " + std::to_string(arguments.positional.size()));
    }
    for (std::size_t i = 0; i < arguments.positional.size(); ++i) values_[i] = std::move(arguments.positional[i]);
    for (auto& [name, value] : arguments.named) {
      std::size_t i = 0;
      while (i < names_.size() && names_[i] != name.view()) ++i;
      if (i == names_.size()) fail(called() + " got an unexpected keyword argument '" + name.bytes() + "'");
      if (values_[i]) fail(called() + " got multiple values for argument '" + name.bytes() + "'");
      values_[i] = std::move(value);
    }
  }

  bool has(std::size_t i) const { return values_[i].has_value(); }
  bool given(std::size_t i) const { return has(i) && !values_[i]->is_none(); }  // and not None

  const Value& need(std::size_t i) const {
    if (!values_[i]) fail(called() + " needs the argument '" + std::string(names_[i]) + "'");
    return *values_[i];
  }
  Value value_or(std::size_t i, Value otherwise) const { return values_[i] ? *values_[i] : std::move(otherwise); }

  std::int64_t integer(std::size_t i) const {
    const Value& value = need(i);
    if (value.is_undefined()) fail_undefined(value);
    if (!value.is_integral())
      fail(quoted_type(value) + " object cannot be interpreted as an integer (argument '" + std::string(names_[i]) + "' of " + called() +
           ")");
    return value.as_int();
  }
  std::int64_t integer_or(std::size_t i, std::int64_t otherwise) const { return has(i) ? integer(i) : otherwise; }
  bool flag(std::size_t i) const { return has(i) && truth(*values_[i]); }

  const Text& text(std::size_t i) const {
    const Value& value = need(i);
    if (value.is_undefined()) fail_undefined(value);
    if (!value.is_string())
      fail("argument '" + std::string(names_[i]) + "' of " + called() + " must be str, not " + std::string(value.type_name()));
    return value.as_text();
  }

 private:
  std::string called() const { return std::string(function_) + "()"; }

  std::string_view function_;
  std::vector<std::string_view> names_;
  std::vector<std::optional<Value>> values_;
};

}  // namespace diecast::chat
