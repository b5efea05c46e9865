// The order of likelihood that every cut uses: larger logit first, among equals the lowest id. So a cut keeps exactly as many as it says.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

namespace diecast {

// 0, 1, ... count - 1, as a range. (clang 14 cannot compile this library's std::views::iota.)
struct AllIds {
  struct Iterator {
    using iterator_category = std::input_iterator_tag;
    using value_type = int;
    using difference_type = std::ptrdiff_t;
    using pointer = const int*;
    using reference = int;
    int id;
    int operator*() const { return id; }
    Iterator& operator++() {
      ++id;
      return *this;
    }
    Iterator operator++(int) { return {id++}; }
    bool operator==(const Iterator&) const = default;
  };
  int count;
  Iterator begin() const { return {0}; }
  Iterator end() const { return {count}; }
  std::size_t size() const { return static_cast<std::size_t>(count); }
};

struct ByRank {
  std::span<const float> logits;
  bool operator()(int a, int b) const {
    const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  }
};

// Of these ascending ids the k first in rank, in no order; fewer where fewer are above -inf. No NaN may be among their logits.
// One pass: a bar that rises with the kth best so far lets only few ids through.
template <class Ids>
void first_in_rank(std::span<const float> logits, const Ids& ids, std::size_t k, std::vector<int>& first) {
  first.clear();
  if (k == 0) return;
  const ByRank rank{logits};
  const std::size_t room = k < ids.size() / 2 ? (std::max<std::size_t>)(2 * k, 64) : ids.size() + 1;
  float bar = -std::numeric_limits<float>::infinity();
  const auto cut = [&] {
    const auto last = first.begin() + static_cast<std::ptrdiff_t>(k) - 1;
    std::nth_element(first.begin(), last, first.end(), rank);
    bar = logits[static_cast<std::size_t>(*last)];
    first.resize(k);
  };
  for (const int id : ids) {
    if (!(logits[static_cast<std::size_t>(id)] > bar)) continue;  // an equal one that comes later ranks behind
    first.push_back(id);
    if (first.size() == room) cut();
  }
  if (first.size() > k) cut();
}
inline void first_in_rank(std::span<const float> logits, std::size_t k, std::vector<int>& first) {
  first_in_rank(logits, AllIds{static_cast<int>(logits.size())}, k, first);
}

}  // namespace diecast
