// "function.name" or 0: the way from an item to what a filter like `map(attribute=...)` or `sort(attribute=...)` looks at.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <diecast/chat/interpreter.hpp>
#include <diecast/chat/strings.hpp>

namespace diecast::chat {

class AttributePath {
 public:
  AttributePath(Budget& budget, const Value& path) {
    if (path.is_none()) return;
    if (!path.is_string()) {
      parts_.push_back(path);
      return;
    }
    for (const Value& part : split_at(budget, path.as_text(), ".", -1)) {
      const std::string_view name = part.as_text().view();
      std::int64_t number = 0;
      const bool digits =
          !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos && parse_integer(name, 10, number);
      parts_.push_back(digits ? Value(number) : part);
    }
  }

  Value of(Interpreter& interpreter, const Value& item) const {
    Value value = item;
    for (const Value& part : parts_) value = interpreter.item(value, part);
    return value;
  }

  Value of(Interpreter& interpreter, const Value& item, const Value& otherwise) const {
    Value value = item;
    for (const Value& part : parts_) {
      value = interpreter.item(value, part);
      if (value.is_undefined()) value = otherwise;
    }
    return value;
  }

 private:
  std::vector<Value> parts_;
};

}  // namespace diecast::chat
