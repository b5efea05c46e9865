// A value of the template language: what Python gives a template, as far as templates use it. Strings know which bytes were typed.
// Values are shared and never change once built (the sandbox of HF transformers forbids it too); only namespaces are assigned to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <diecast/chat/budget.hpp>
#include <diecast/chat/text.hpp>

namespace diecast::chat {

class Value;
class Interpreter;
struct Arguments;

struct None {};

// The absence of a value, with the sentence to say when somebody uses it.
struct Undefined {
  std::shared_ptr<const std::string> why;
};

enum class ListKind : std::uint8_t {
  list,
  tuple,
  range,
  group,      // the tuple of `groupby`, with names
  iterator,   // what filters like `map` and `select` give: true, without a length, used up by the first loop
  keys,       // dict.keys() and so on: a length, no subscripts
  values,
  items
};

struct List;
struct Dict;

// Anything with behaviour: macros, methods taken from a value, `loop`, namespaces.
class Object {
 public:
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
  virtual std::string_view type_name() const = 0;
  virtual std::string repr() const { return "<" + std::string(type_name()) + ">"; }
  virtual bool callable() const { return true; }
  virtual bool attribute(std::string_view, Value&) { return false; }
  virtual Value call(Interpreter& interpreter, Arguments& arguments) = 0;
};

class Value {
 public:
  Value() = default;  // undefined
  Value(None) : data_(None{}) {}
  Value(bool value) : data_(value) {}
  Value(std::int64_t value) : data_(value) {}
  Value(int value) : data_(static_cast<std::int64_t>(value)) {}
  Value(double value) : data_(value) {}
  template <class T>
  Value(T*) = delete;  // would become a bool: say plain() or typed()
  Value(Text text) : data_(std::make_shared<const Text>(std::move(text))) {}
  Value(List list);
  Value(Dict dict);
  Value(std::shared_ptr<List> list) : data_(std::move(list)) {}
  Value(std::shared_ptr<Object> object) : data_(std::move(object)) {}

  // Text of the program or of the template: its control markers count.
  static Value plain(std::string_view text) { return Value(Text::plain(std::string(text))); }
  // Text that somebody typed: no control marker in it counts.
  static Value typed(std::string_view text) { return Value(Text::all_typed(std::string(text))); }
  static Value undefined(std::string why) {
    Value value;
    value.data_ = Undefined{std::make_shared<const std::string>(std::move(why))};
    return value;
  }
  static Value list(std::vector<Value> items = {});
  static Value dict(std::vector<std::pair<Value, Value>> entries = {});  // a later key wins, at the place of the first

  bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
  bool is_none() const { return std::holds_alternative<None>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_int() const { return std::holds_alternative<std::int64_t>(data_); }
  bool is_integral() const { return is_bool() || is_int(); }
  bool is_real() const { return std::holds_alternative<double>(data_); }
  bool is_number() const { return is_integral() || is_real(); }
  bool is_string() const { return std::holds_alternative<TextPointer>(data_); }
  bool is_list() const { return std::holds_alternative<ListPointer>(data_); }  // of any ListKind
  bool is_list(ListKind kind) const;
  bool is_dict() const { return std::holds_alternative<DictPointer>(data_); }
  bool is_object() const { return std::holds_alternative<ObjectPointer>(data_); }

  bool as_bool() const { return std::get<bool>(data_); }
  std::int64_t as_int() const { return is_bool() ? (as_bool() ? 1 : 0) : std::get<std::int64_t>(data_); }
  double as_real() const { return is_real() ? std::get<double>(data_) : static_cast<double>(as_int()); }
  const Text& as_text() const { return *std::get<TextPointer>(data_); }
  const List& as_list() const { return *std::get<ListPointer>(data_); }
  const std::shared_ptr<List>& list_pointer() const { return std::get<ListPointer>(data_); }
  const Dict& as_dict() const { return *std::get<DictPointer>(data_); }
  const std::shared_ptr<Object>& as_object() const { return std::get<ObjectPointer>(data_); }
  const Undefined& as_undefined() const { return std::get<Undefined>(data_); }

  // The same thing, not an equal one: Python's `is`.
  bool same_as(const Value& other) const;
  std::string_view type_name() const;
  int depth() const;

 private:
  using TextPointer = std::shared_ptr<const Text>;
  using ListPointer = std::shared_ptr<List>;
  using DictPointer = std::shared_ptr<const Dict>;
  using ObjectPointer = std::shared_ptr<Object>;
  std::variant<Undefined, None, bool, std::int64_t, double, TextPointer, ListPointer, DictPointer, ObjectPointer> data_;
};

// Lists in lists in lists: deeper than this is refused, since printing and freeing them is recursive.
inline constexpr int max_value_depth = 200;

inline int deeper_than(int depth) {
  if (depth >= max_value_depth) fail("a value nests deeper than " + std::to_string(max_value_depth) + " levels");
  return depth + 1;
}

struct List {
  ListKind kind = ListKind::list;
  std::vector<Value> items;
  std::size_t used = 0;  // of an iterator: what a loop has taken already
  std::string label;     // of a range: how Python prints it
  int depth = 1;

  explicit List(std::vector<Value> values, ListKind list_kind = ListKind::list) : kind(list_kind), items(std::move(values)) {
    int deepest = 0;
    for (const Value& item : items) deepest = (std::max)(deepest, item.depth());
    depth = deeper_than(deepest);
  }
};

// In the order of insertion, as Python keeps it.
struct Dict {
  std::vector<std::pair<Value, Value>> entries;
  int depth = 1;

  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  void set(Value key, Value value);

 private:
  std::size_t position(const Value& key) const;
  std::size_t position(std::string_view key) const;
  std::unordered_map<std::string, std::size_t> index_;  // of string keys, once there are many
};

inline Value::Value(List list) : data_(std::make_shared<List>(std::move(list))) {}
inline Value::Value(Dict dict) : data_(std::make_shared<const Dict>(std::move(dict))) {}
inline Value Value::list(std::vector<Value> items) { return Value(List(std::move(items))); }
inline Value Value::dict(std::vector<std::pair<Value, Value>> entries) {
  Dict dict;
  for (auto& [key, value] : entries) dict.set(std::move(key), std::move(value));
  return Value(std::move(dict));
}
inline bool Value::is_list(ListKind kind) const { return is_list() && as_list().kind == kind; }
inline int Value::depth() const { return is_list() ? as_list().depth : is_dict() ? as_dict().depth : 0; }

inline bool Value::same_as(const Value& other) const {
  if (data_.index() != other.data_.index()) return false;
  if (is_none()) return true;
  if (is_undefined()) return as_undefined().why == other.as_undefined().why;
  if (is_bool()) return as_bool() == other.as_bool();
  if (is_int()) return as_int() == other.as_int();
  if (is_real()) return as_real() == other.as_real();
  if (is_string()) return as_text().view() == other.as_text().view();
  if (is_list()) return list_pointer() == other.list_pointer();
  if (is_dict()) return &as_dict() == &other.as_dict();
  return as_object() == other.as_object();
}

// As Python's messages name it.
inline std::string_view Value::type_name() const {
  if (is_undefined()) return "Undefined";
  if (is_none()) return "NoneType";
  if (is_bool()) return "bool";
  if (is_int()) return "int";
  if (is_real()) return "float";
  if (is_string()) return "str";
  if (is_dict()) return "dict";
  if (is_object()) return as_object()->type_name();
  switch (as_list().kind) {
    case ListKind::list: return "list";
    case ListKind::tuple: return "tuple";
    case ListKind::range: return "range";
    case ListKind::group: return "_GroupTuple";
    case ListKind::iterator: return "generator";
    case ListKind::keys: return "dict_keys";
    case ListKind::values: return "dict_values";
    case ListKind::items: return "dict_items";
  }
  return "list";
}

// Equality of hashable values: 1 == 1.0 == True, tuples by their items.
inline bool same_key(const Value& left, const Value& right) {
  if (left.is_string() || right.is_string())
    return left.is_string() && right.is_string() && left.as_text().view() == right.as_text().view();
  if (left.is_integral() && right.is_integral()) return left.as_int() == right.as_int();
  if (left.is_number() && right.is_number()) return left.as_real() == right.as_real();
  if (left.is_list() && right.is_list()) {
    const auto& a = left.as_list().items;
    const auto& b = right.as_list().items;
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!same_key(a[i], b[i])) return false;
    }
    return true;
  }
  return left.same_as(right);
}

inline constexpr std::size_t many_keys = 12;

inline std::size_t Dict::position(std::string_view key) const {
  if (!index_.empty()) {
    const auto found = index_.find(std::string(key));
    return found == index_.end() ? entries.size() : found->second;
  }
  std::size_t i = 0;
  while (i < entries.size() && !(entries[i].first.is_string() && entries[i].first.as_text().view() == key)) ++i;
  return i;
}

inline std::size_t Dict::position(const Value& key) const {
  if (key.is_string()) return position(key.as_text().view());
  std::size_t i = 0;
  while (i < entries.size() && !same_key(entries[i].first, key)) ++i;
  return i;
}

inline const Value* Dict::find(const Value& key) const {
  const std::size_t at = position(key);
  return at < entries.size() ? &entries[at].second : nullptr;
}

inline const Value* Dict::find(std::string_view key) const {
  const std::size_t at = position(key);
  return at < entries.size() ? &entries[at].second : nullptr;
}

inline void Dict::set(Value key, Value value) {
  depth = (std::max)(depth, deeper_than((std::max)(key.depth(), value.depth())));
  const std::size_t at = position(key);
  if (at < entries.size()) {
    entries[at].second = std::move(value);
    return;
  }
  entries.emplace_back(std::move(key), std::move(value));
  if (entries.size() < many_keys) return;
  if (index_.empty()) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].first.is_string()) index_.emplace(entries[i].first.as_text().bytes(), i);
    }
  } else if (entries.back().first.is_string()) {
    index_.emplace(entries.back().first.as_text().bytes(), entries.size() - 1);
  }
}

}  // namespace diecast::chat
