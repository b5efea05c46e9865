// value[start:stop:step] as Python cuts it, over code points of a string or items of a list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <diecast/chat/python.hpp>
#include <diecast/chat/utf8.hpp>
#include <diecast/chat/value.hpp>

namespace diecast::chat {

// Offsets of the code points of a text, and its size at the end.
inline std::vector<std::size_t> code_point_starts(Budget& budget, std::string_view text) {
  std::vector<std::size_t> starts;
  budget.build((text.size() + 1) * sizeof(std::size_t));
  for (std::size_t at = 0; at < text.size(); at += decode_at(text, at).length) starts.push_back(at);
  starts.push_back(text.size());
  return starts;
}

struct SliceBounds {
  std::int64_t start;
  std::int64_t step;
  std::int64_t count;
};

inline SliceBounds slice_bounds(std::int64_t size, const Value& start, const Value& stop, const Value& step) {
  const auto number = [](const Value& value, std::int64_t otherwise) {
    if (value.is_none()) return otherwise;
    if (!value.is_integral()) fail("slice indices must be integers or None, not " + std::string(value.type_name()));
    return value.as_int();
  };
  const std::int64_t stride = number(step, 1);
  if (stride == 0) fail("slice step cannot be zero");
  const bool back = stride < 0;
  const std::int64_t low = back ? -1 : 0;
  const std::int64_t high = back ? size - 1 : size;
  const auto clamp = [&](const Value& value, std::int64_t otherwise) {
    if (value.is_none()) return otherwise;
    std::int64_t at = number(value, 0);
    if (at < 0) at = at < -size ? low : at + size;
    return at < low ? low : at > high ? high : at;
  };
  const std::int64_t from = clamp(start, back ? high : low);
  const std::int64_t to = clamp(stop, back ? low : high);
  const std::int64_t distance = back ? from - to : to - from;
  if (distance <= 0) return {from, stride, 0};
  // |stride| may be the least integer, which has no opposite.
  const std::uint64_t width = back ? 0 - static_cast<std::uint64_t>(stride) : static_cast<std::uint64_t>(stride);
  return {from, stride, static_cast<std::int64_t>((static_cast<std::uint64_t>(distance) - 1) / width + 1)};
}

inline Value slice_of(Budget& budget, const Value& value, const Value& start, const Value& stop, const Value& step) {
  if (value.is_undefined()) fail_undefined(value);
  if (value.is_string()) {
    const Text& text = value.as_text();
    const auto starts = code_point_starts(budget, text.view());
    const SliceBounds bounds = slice_bounds(static_cast<std::int64_t>(starts.size()) - 1, start, stop, step);
    TextBuilder out(budget);
    if (bounds.step == 1) {
      const auto from = static_cast<std::size_t>(bounds.start);
      return Value(
          out.add(text, starts[bounds.count > 0 ? from : 0], starts[bounds.count > 0 ? from + static_cast<std::size_t>(bounds.count) : 0])
              .take());
    }
    for (std::int64_t i = 0; i < bounds.count; ++i) {
      const auto at = static_cast<std::size_t>(bounds.start + i * bounds.step);
      out.add(text, starts[at], starts[at + 1]);
    }
    return Value(out.take());
  }
  if (value.is_list() && value.as_list().kind <= ListKind::group) {
    const auto& items = value.as_list().items;
    const SliceBounds bounds = slice_bounds(static_cast<std::int64_t>(items.size()), start, stop, step);
    budget.step(static_cast<std::uint64_t>(bounds.count));
    budget.build(static_cast<std::size_t>(bounds.count) * sizeof(Value));
    std::vector<Value> part;
    for (std::int64_t i = 0; i < bounds.count; ++i) part.push_back(items[static_cast<std::size_t>(bounds.start + i * bounds.step)]);
    return make_list(budget, std::move(part),
                     value.is_list(ListKind::list) || value.is_list(ListKind::range) ? ListKind::list : ListKind::tuple);
  }
  if (value.is_dict()) fail("unhashable type: 'slice'");
  fail(quoted_type(value) + " object is not subscriptable");
}

}  // namespace diecast::chat
