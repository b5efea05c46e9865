// What Python does with any value: truth, str() and repr(), equality and order, membership, length, iteration.
// Each visits as much as the value holds, so each pays steps: lists can share parts and be far larger than the memory they take.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <diecast/chat/budget.hpp>
#include <diecast/chat/letters.hpp>
#include <diecast/chat/numbers.hpp>
#include <diecast/chat/utf8.hpp>
#include <diecast/chat/value.hpp>

namespace diecast::chat {

[[noreturn]] inline void fail_undefined(const Value& value) {
  const auto& why = value.as_undefined().why;
  fail(why ? *why : std::string("the value is undefined"));
}

inline std::string quoted_type(const Value& value) { return "'" + std::string(value.type_name()) + "'"; }

inline bool truth(const Value& value) {
  if (value.is_undefined() || value.is_none()) return false;
  if (value.is_integral()) return value.as_int() != 0;
  if (value.is_real()) return value.as_real() != 0;
  if (value.is_string()) return !value.as_text().empty();
  if (value.is_list()) return value.is_list(ListKind::iterator) || !value.as_list().items.empty();
  if (value.is_dict()) return !value.as_dict().entries.empty();
  return true;
}

// --- text ------------------------------------------------------------------------------------------------------------

inline void add_repr(TextBuilder& out, const Value& value);

inline std::string hexadecimal(std::uint32_t value, int digits) {
  std::string text(static_cast<std::size_t>(digits), '0');
  for (std::size_t i = text.size(); i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 15];
  return text;
}

inline void add_text_repr(TextBuilder& out, const Text& text) {
  const std::string_view bytes = text.view();
  const char quote = bytes.find('\'') != std::string_view::npos && bytes.find('"') == std::string_view::npos ? '"' : '\'';
  const std::string_view mark = quote == '"' ? "\"" : "'";
  out.add(mark);
  for (std::size_t at = 0; at < bytes.size();) {
    const CodePoint c = decode_at(bytes, at);
    const bool typed = text.any_typed(at, at + c.length);
    if (c.value == static_cast<char32_t>(quote) || c.value == '\\') {
      out.add("\\", typed).add(text, at, at + c.length);
    } else if (c.value == '\n') {
      out.add("\\n", typed);
    } else if (c.value == '\r') {
      out.add("\\r", typed);
    } else if (c.value == '\t') {
      out.add("\\t", typed);
    } else if (is_printable(c.value)) {
      out.add(text, at, at + c.length);
    } else {
      const auto code = static_cast<std::uint32_t>(c.value);
      out.add(code < 0x100     ? "\\x" + hexadecimal(code, 2)
              : code < 0x10000 ? "\\u" + hexadecimal(code, 4)
                               : "\\U" + hexadecimal(code, 8),
              typed);
    }
    at += c.length;
  }
  out.add(mark);
}

inline void add_list_repr(TextBuilder& out, const List& list) {
  if (list.kind == ListKind::range) {
    out.add(list.label);
    return;
  }
  if (list.kind == ListKind::iterator) {
    out.add("<generator object>");
    return;
  }
  const bool tuple = list.kind == ListKind::tuple || list.kind == ListKind::group;
  const std::string_view begin = tuple                           ? "("
                                 : list.kind == ListKind::keys   ? "dict_keys(["
                                 : list.kind == ListKind::values ? "dict_values(["
                                 : list.kind == ListKind::items  ? "dict_items(["
                                                                 : "[";
  out.add(begin);
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    if (i > 0) out.add(", ");
    add_repr(out, list.items[i]);
  }
  out.add(tuple ? (list.items.size() == 1 ? ",)" : ")") : begin.size() > 1 ? "])" : "]");
}

inline void add_repr(TextBuilder& out, const Value& value) {
  out.budget().step();
  if (value.is_undefined()) {
    out.add("Undefined");
  } else if (value.is_none()) {
    out.add("None");
  } else if (value.is_bool()) {
    out.add(value.as_bool() ? "True" : "False");
  } else if (value.is_int()) {
    out.add(integer_text(value.as_int()));
  } else if (value.is_real()) {
    out.add(real_text(value.as_real()));
  } else if (value.is_string()) {
    add_text_repr(out, value.as_text());
  } else if (value.is_list()) {
    add_list_repr(out, value.as_list());
  } else if (value.is_dict()) {
    out.add("{");
    bool first = true;
    for (const auto& [key, item] : value.as_dict().entries) {
      if (!first) out.add(", ");
      first = false;
      add_repr(out, key);
      out.add(": ");
      add_repr(out, item);
    }
    out.add("}");
  } else {
    out.add(value.as_object()->repr());
  }
}

// Python's str(): a string is itself, an undefined value is empty.
inline void add_str(TextBuilder& out, const Value& value) {
  if (value.is_string()) {
    out.add(value.as_text());
  } else if (!value.is_undefined()) {
    add_repr(out, value);
  }
}

inline Text str(Budget& budget, const Value& value) {
  if (value.is_string()) {
    budget.build(value.as_text().size());
    return value.as_text();
  }
  TextBuilder out(budget);
  add_str(out, value);
  return out.take();
}

// --- comparison ------------------------------------------------------------------------------------------------------

inline bool is_tuple(const Value& value) { return value.is_list(ListKind::tuple) || value.is_list(ListKind::group); }

inline bool equal(Budget& budget, const Value& left, const Value& right) {
  budget.step();
  if (left.is_undefined() || right.is_undefined()) return left.is_undefined() && right.is_undefined();
  if (left.is_string() && right.is_string()) {
    if (left.as_text().size() == right.as_text().size()) budget.step(left.as_text().size() / 256);
    return left.as_text().view() == right.as_text().view();
  }
  if (left.is_integral() && right.is_integral()) return left.as_int() == right.as_int();
  if (left.is_number() && right.is_number()) return left.as_real() == right.as_real();
  if (left.is_list() && right.is_list()) {
    const List& a = left.as_list();
    const List& b = right.as_list();
    if (is_tuple(left) != is_tuple(right) || (!is_tuple(left) && a.kind != b.kind)) return false;
    if (a.kind == ListKind::iterator || a.kind == ListKind::values) return &a == &b;
    if (a.items.size() != b.items.size()) return false;
    for (std::size_t i = 0; i < a.items.size(); ++i) {
      if (!equal(budget, a.items[i], b.items[i])) return false;
    }
    return true;
  }
  if (left.is_dict() && right.is_dict()) {
    const Dict& a = left.as_dict();
    const Dict& b = right.as_dict();
    if (a.entries.size() != b.entries.size()) return false;
    for (const auto& [key, value] : a.entries) {
      const Value* other = b.find(key);
      if (other == nullptr || !equal(budget, value, *other)) return false;
    }
    return true;
  }
  return left.same_as(right);
}

// Below zero, zero, above zero; -2 when one of them is NaN. `sign` is how the template wrote it.
inline int order(Budget& budget, const Value& left, const Value& right, std::string_view sign) {
  budget.step();
  if (left.is_undefined()) fail_undefined(left);
  if (right.is_undefined()) fail_undefined(right);
  if (left.is_integral() && right.is_integral()) return left.as_int() < right.as_int() ? -1 : left.as_int() > right.as_int() ? 1 : 0;
  if (left.is_number() && right.is_number()) {
    const double a = left.as_real();
    const double b = right.as_real();
    return a < b ? -1 : a > b ? 1 : a == b ? 0 : -2;
  }
  if (left.is_string() && right.is_string()) {
    const int result = left.as_text().view().compare(right.as_text().view());  // bytes of UTF-8 order as code points do
    return result < 0 ? -1 : result > 0 ? 1 : 0;
  }
  if ((left.is_list(ListKind::list) && right.is_list(ListKind::list)) || (is_tuple(left) && is_tuple(right))) {
    const auto& a = left.as_list().items;
    const auto& b = right.as_list().items;
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
      if (!equal(budget, a[i], b[i])) return order(budget, a[i], b[i], sign);
    }
    return a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
  }
  fail("'" + std::string(sign) + "' not supported between instances of " + quoted_type(left) + " and " + quoted_type(right));
}

inline bool less(Budget& budget, const Value& left, const Value& right) { return order(budget, left, right, "<") == -1; }

inline void check_hashable(const Value& key) {
  if (key.is_dict() || key.is_list(ListKind::list) || key.is_list(ListKind::keys) || key.is_list(ListKind::items))
    fail("unhashable type: " + quoted_type(key));
  if (is_tuple(key)) {
    for (const Value& item : key.as_list().items) check_hashable(item);
  }
}

// What looking for a key or for a text costs at worst.
inline std::uint64_t lookup_steps(const Dict& dict, const Value& key) { return key.is_string() ? 1 : 1 + dict.entries.size() / 8; }
inline std::uint64_t search_steps(std::size_t text, std::size_t wanted) { return 1 + text / 64 * (1 + wanted / 64); }

// --- collections -----------------------------------------------------------------------------------------------------

inline std::int64_t length(const Value& value) {
  if (value.is_undefined()) return 0;
  if (value.is_string()) return static_cast<std::int64_t>(count_code_points(value.as_text().view()));
  if (value.is_dict()) return static_cast<std::int64_t>(value.as_dict().entries.size());
  if (value.is_list() && !value.is_list(ListKind::iterator)) return static_cast<std::int64_t>(value.as_list().items.size());
  fail("object of type " + quoted_type(value) + " has no len()");
}

inline bool iterable(const Value& value) { return value.is_undefined() || value.is_string() || value.is_list() || value.is_dict(); }

// The items that a loop would see. An iterator is empty afterwards.
inline std::vector<Value> items_of(Budget& budget, const Value& value) {
  std::vector<Value> items;
  if (value.is_undefined()) return items;
  if (value.is_list()) {
    List& list = *value.list_pointer();
    budget.step(list.items.size());
    budget.build(list.items.size() * sizeof(Value));
    if (list.kind != ListKind::iterator) return list.items;
    items.assign(list.items.begin() + static_cast<std::ptrdiff_t>(list.used), list.items.end());
    list.used = list.items.size();
    return items;
  }
  if (value.is_dict()) {
    budget.step(value.as_dict().entries.size());
    budget.build(value.as_dict().entries.size() * sizeof(Value));
    for (const auto& [key, item] : value.as_dict().entries) items.push_back(key);
    return items;
  }
  if (value.is_string()) {
    const Text& text = value.as_text();
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t next = at + decode_at(text.view(), at).length;
      budget.step();
      budget.build(sizeof(Value) + sizeof(Text) * 2);
      items.emplace_back(text.slice(at, next));
      at = next;
    }
    return items;
  }
  fail(quoted_type(value) + " object is not iterable");
}

inline Value make_list(Budget& budget, std::vector<Value> items, ListKind kind = ListKind::list) {
  budget.build(items.size() * sizeof(Value) + 2 * sizeof(List));
  return Value(List(std::move(items), kind));
}

inline Value make_tuple(Budget& budget, std::vector<Value> items) { return make_list(budget, std::move(items), ListKind::tuple); }

inline bool contains(Budget& budget, const Value& container, const Value& item) {
  if (container.is_string()) {
    if (!item.is_string()) fail("'in <string>' requires string as left operand, not " + std::string(item.type_name()));
    budget.step(search_steps(container.as_text().size(), item.as_text().size()));
    return container.as_text().view().find(item.as_text().view()) != std::string_view::npos;
  }
  if (container.is_dict()) {
    check_hashable(item);
    budget.step(lookup_steps(container.as_dict(), item));
    return container.as_dict().find(item) != nullptr;
  }
  if (!iterable(container)) fail("argument of type " + quoted_type(container) + " is not iterable");
  const auto items = items_of(budget, container);
  return std::any_of(items.begin(), items.end(), [&](const Value& other) { return equal(budget, item, other); });
}

}  // namespace diecast::chat
