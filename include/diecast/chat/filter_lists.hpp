// Filters over lists and dicts. Where Jinja gives a generator, so do these: true, without a length, used up by one loop.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <diecast/chat/arguments.hpp>
#include <diecast/chat/attribute_path.hpp>
#include <diecast/chat/filter_numbers.hpp>
#include <diecast/chat/interpreter.hpp>
#include <diecast/chat/methods.hpp>
#include <diecast/chat/python.hpp>
#include <diecast/chat/strings.hpp>

namespace diecast::chat {

inline Value make_iterator(Budget& budget, std::vector<Value> items) { return make_list(budget, std::move(items), ListKind::iterator); }

inline Value ignore_case(Budget& budget, const Value& value, bool case_sensitive) {
  return case_sensitive || !value.is_string() ? value : Value(in_case(budget, value.as_text(), Case::lower));
}

// Sorts by keys, equal ones in their order; a comparison may throw, which the standard's sorts allow.
inline std::vector<std::size_t> sorted_order(Budget& budget, const std::vector<Value>& keys, bool reverse) {
  std::vector<std::size_t> order(keys.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return reverse ? less(budget, keys[b], keys[a]) : less(budget, keys[a], keys[b]);
  });
  return order;
}

inline Value filter_list(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("list", arguments, {});
  return make_list(interpreter.budget(), items_of(interpreter.budget(), value));
}

inline Value filter_items(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("items", arguments, {});
  Budget& budget = interpreter.budget();
  std::vector<Value> pairs;
  if (!value.is_undefined()) {
    if (!value.is_dict()) fail("Can only get item pairs from a mapping.");
    for (const auto& [key, item] : value.as_dict().entries) pairs.push_back(make_tuple(budget, {key, item}));
  }
  return make_iterator(budget, std::move(pairs));
}

inline Value filter_first(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("first", arguments, {});
  if (value.is_list(ListKind::iterator)) {  // takes one, leaves the rest
    List& list = *value.list_pointer();
    if (list.used < list.items.size()) return list.items[list.used++];
  } else if (value.is_list() && !value.as_list().items.empty()) {
    return value.as_list().items.front();
  } else if (const auto items = items_of(interpreter.budget(), value); !items.empty()) {
    return items.front();
  }
  return Value::undefined("No first item, sequence was empty.");
}

inline Value filter_last(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("last", arguments, {});
  if (value.is_list(ListKind::iterator)) fail("'generator' object is not reversible");
  const auto items = items_of(interpreter.budget(), value);
  return items.empty() ? Value::undefined("No last item, sequence was empty.") : items.back();
}

inline Value filter_reverse(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("reverse", arguments, {});
  Budget& budget = interpreter.budget();
  if (value.is_string()) return slice_of(budget, value, None{}, None{}, -1);
  auto items = items_of(budget, value);
  std::reverse(items.begin(), items.end());
  return value.is_list(ListKind::iterator) ? make_list(budget, std::move(items)) : make_iterator(budget, std::move(items));
}

inline Value filter_sort(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  Budget& budget = interpreter.budget();
  const auto items = items_of(budget, value);
  std::vector<AttributePath> paths;
  if (bound.given(2) && bound.need(2).is_string()) {
    for (const Value& path : split_at(budget, bound.text(2), ",", -1)) paths.emplace_back(budget, path);
  } else {
    paths.emplace_back(budget, bound.value_or(2, None{}));
  }
  std::vector<Value> keys;
  for (const Value& item : items) {
    std::vector<Value> key;
    for (const AttributePath& path : paths) key.push_back(ignore_case(budget, path.of(interpreter, item), bound.flag(1)));
    keys.push_back(make_list(budget, std::move(key)));
  }
  std::vector<Value> sorted;
  for (const std::size_t i : sorted_order(budget, keys, bound.flag(0))) sorted.push_back(items[i]);
  return make_list(budget, std::move(sorted));
}

inline Value filter_dictsort(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  Budget& budget = interpreter.budget();
  if (value.is_undefined()) fail_undefined(value);
  if (!value.is_dict()) fail("dictsort needs a dict, not " + std::string(value.type_name()));
  const std::string_view by = bound.has(1) ? bound.text(1).view() : "key";
  if (by != "key" && by != "value") fail("You can only sort by either \"key\" or \"value\"");
  std::vector<Value> keys;
  for (const auto& [key, item] : value.as_dict().entries) keys.push_back(ignore_case(budget, by == "key" ? key : item, bound.flag(0)));
  std::vector<Value> sorted;
  for (const std::size_t i : sorted_order(budget, keys, bound.flag(2))) {
    const auto& [key, item] = value.as_dict().entries[i];
    sorted.push_back(make_tuple(budget, {key, item}));
  }
  return make_list(budget, std::move(sorted));
}

inline Value filter_unique(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("unique", arguments, {"case_sensitive", "attribute"});
  Budget& budget = interpreter.budget();
  const AttributePath path(budget, bound.value_or(1, None{}));
  std::vector<Value> kept;
  std::vector<Value> seen;
  std::unordered_set<std::string> seen_texts;
  for (const Value& item : items_of(budget, value)) {
    const Value key = ignore_case(budget, path.of(interpreter, item), bound.flag(0));
    check_hashable(key);
    if (key.is_string()) {
      if (!seen_texts.insert(key.as_text().bytes()).second) continue;
    } else {
      if (std::any_of(seen.begin(), seen.end(), [&](const Value& other) { return equal(budget, key, other); })) continue;
      seen.push_back(key);
    }
    kept.push_back(item);
  }
  return make_iterator(budget, std::move(kept));
}

template <bool Max>
Value extreme_filter(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound(Max ? "max" : "min", arguments, {"case_sensitive", "attribute"});
  Budget& budget = interpreter.budget();
  const AttributePath path(budget, bound.value_or(1, None{}));
  const auto items = items_of(budget, value);
  if (items.empty()) return Value::undefined("No aggregated item, sequence was empty.");
  std::size_t best = 0;
  Value best_key = ignore_case(budget, path.of(interpreter, items[0]), bound.flag(0));
  for (std::size_t i = 1; i < items.size(); ++i) {
    Value key = ignore_case(budget, path.of(interpreter, items[i]), bound.flag(0));
    if (Max ? order(budget, key, best_key, ">") == 1 : order(budget, key, best_key, "<") == -1) {
      best = i;
      best_key = std::move(key);
    }
  }
  return items[best];
}
inline constexpr FilterBody filter_max = extreme_filter<true>;
inline constexpr FilterBody filter_min = extreme_filter<false>;

inline Value filter_sum(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("sum", arguments, {"attribute", "start"});
  Budget& budget = interpreter.budget();
  const AttributePath path(budget, bound.value_or(0, None{}));
  Value total = bound.value_or(1, 0);
  for (const Value& item : items_of(budget, value)) {
    const Value next = path.of(interpreter, item);
    if (next.is_undefined()) fail_undefined(next);
    if (!total.is_number() || !next.is_number())
      fail("unsupported operand type(s) for +: " + quoted_type(total) + " and " + quoted_type(next));
    total = total.is_integral() && next.is_integral() ? integer_arithmetic(Operator::add, total.as_int(), next.as_int())
                                                      : Value(total.as_real() + next.as_real());
  }
  return total;
}

inline Value filter_batch(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("batch", arguments, {"linecount", "fill_with"});
  Budget& budget = interpreter.budget();
  const std::int64_t size = bound.integer(0);
  std::vector<Value> batches;
  std::vector<Value> batch;
  for (const Value& item : items_of(budget, value)) {
    if (static_cast<std::int64_t>(batch.size()) == size) batches.push_back(make_list(budget, std::exchange(batch, {})));
    batch.push_back(item);
  }
  if (!batch.empty()) {
    while (bound.given(1) && static_cast<std::int64_t>(batch.size()) < size) {
      budget.step();
      budget.build(sizeof(Value));
      batch.push_back(bound.need(1));
    }
    batches.push_back(make_list(budget, std::move(batch)));
  }
  return make_iterator(budget, std::move(batches));
}

inline Value filter_slice(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("slice", arguments, {"slices", "fill_with"});
  Budget& budget = interpreter.budget();
  const auto items = items_of(budget, value);
  const std::int64_t slices = bound.integer(0);
  if (slices == 0) fail("integer division or modulo by zero");
  std::vector<Value> result;
  if (slices > 0) {
    const std::size_t count = static_cast<std::size_t>(slices);
    const std::size_t each = items.size() / count;
    const std::size_t longer = items.size() % count;
    std::size_t at = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t size = each + (i < longer ? 1 : 0);
      std::vector<Value> part(items.begin() + static_cast<std::ptrdiff_t>(at), items.begin() + static_cast<std::ptrdiff_t>(at + size));
      at += size;
      if (bound.given(1) && i >= longer) part.push_back(bound.need(1));
      budget.step();
      result.push_back(make_list(budget, std::move(part)));
    }
  }
  return make_iterator(budget, std::move(result));
}

inline Value filter_groupby(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("groupby", arguments, {"attribute", "default", "case_sensitive"});
  Budget& budget = interpreter.budget();
  const AttributePath path(budget, bound.need(0));
  const auto items = items_of(budget, value);
  const auto key_of = [&](const Value& item) {
    return bound.given(1) ? path.of(interpreter, item, bound.need(1)) : path.of(interpreter, item);
  };
  std::vector<Value> keys;
  for (const Value& item : items) keys.push_back(ignore_case(budget, key_of(item), bound.flag(2)));
  std::vector<Value> groups;
  std::vector<Value> group;
  const auto order = sorted_order(budget, keys, false);
  for (std::size_t i = 0; i < order.size(); ++i) {
    group.push_back(items[order[i]]);
    if (i + 1 < order.size() && equal(budget, keys[order[i]], keys[order[i + 1]])) continue;
    Value key = key_of(group.front());
    groups.push_back(make_list(budget, {std::move(key), make_list(budget, std::exchange(group, {}))}, ListKind::group));
  }
  return make_list(budget, std::move(groups));
}

inline Value filter_attr(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("attr", arguments, {"name"});
  const std::string_view name = bound.text(0).view();
  if (value.is_undefined()) fail_undefined(value);
  if (value.is_dict() && !has_method(value, name)) return Value::undefined("'dict object' has no attribute '" + std::string(name) + "'");
  return interpreter.attribute(value, name);
}

// map("upper"), map(attribute="a.b", default=0)
inline Value filter_map(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Budget& budget = interpreter.budget();
  if (!truth(value)) return make_iterator(budget, {});
  auto items = items_of(budget, value);
  if (arguments.positional.empty()) {
    Bound bound("map", arguments, {"attribute", "default"});
    if (!bound.has(0)) fail("map requires a filter argument");
    const AttributePath path(budget, bound.need(0));
    for (Value& item : items) item = bound.given(1) ? path.of(interpreter, item, bound.need(1)) : path.of(interpreter, item);
    return make_iterator(budget, std::move(items));
  }
  const Value name = arguments.positional.front();
  if (!name.is_string()) fail("map requires the name of a filter");
  arguments.positional.erase(arguments.positional.begin());
  for (Value& item : items) {
    Arguments own = arguments;
    item = interpreter.apply_filter(name.as_text().view(), item, own);
  }
  return make_iterator(budget, std::move(items));
}

template <bool Keep, bool ByAttribute>
Value choosing_filter(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Budget& budget = interpreter.budget();
  if (!truth(value)) return make_iterator(budget, {});
  auto& given = arguments.positional;
  std::optional<AttributePath> path;
  if (ByAttribute) {
    if (given.empty()) fail("Missing parameter for attribute name");
    path.emplace(budget, given.front());
    given.erase(given.begin());
  }
  std::optional<Value> test;
  if (!given.empty()) {
    test = given.front();
    if (!test->is_string()) fail("select and reject require the name of a test");
    given.erase(given.begin());
  }
  std::vector<Value> chosen;
  for (Value& item : items_of(budget, value)) {
    const Value subject = path ? path->of(interpreter, item) : item;
    Arguments own = arguments;
    const bool holds = test ? interpreter.apply_test(test->as_text().view(), subject, own) : truth(subject);
    if (holds == Keep) chosen.push_back(std::move(item));
  }
  return make_iterator(budget, std::move(chosen));
}
inline constexpr FilterBody filter_select = choosing_filter<true, false>;
inline constexpr FilterBody filter_reject = choosing_filter<false, false>;
inline constexpr FilterBody filter_selectattr = choosing_filter<true, true>;
inline constexpr FilterBody filter_rejectattr = choosing_filter<false, true>;

}  // namespace diecast::chat
