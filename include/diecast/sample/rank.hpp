// The order of likelihood that every cut uses: larger logit first, among equals the lowest id. So a cut keeps exactly as many as it says.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace diecast {

struct ByRank {
  std::span<const float> logits;
  bool operator()(int a, int b) const {
    const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  }
};

// The ids of the k first in rank, in no order; fewer where fewer are above -inf. No NaN may be among the logits.
// One pass: a bar that rises with the kth best so far lets only few ids through.
inline void first_in_rank(std::span<const float> logits, std::size_t k, std::vector<int>& ids) {
  ids.clear();
  if (k == 0) return;
  const ByRank rank{logits};
  const std::size_t room = k < logits.size() / 2 ? std::max<std::size_t>(2 * k, 64) : logits.size() + 1;
  float bar = -std::numeric_limits<float>::infinity();
  const auto cut = [&] {
    const auto last = ids.begin() + static_cast<std::ptrdiff_t>(k) - 1;
    std::nth_element(ids.begin(), last, ids.end(), rank);
    bar = logits[static_cast<std::size_t>(*last)];
    ids.resize(k);
  };
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (!(logits[id] > bar)) continue;  // an equal one that comes later ranks behind
    ids.push_back(static_cast<int>(id));
    if (ids.size() == room) cut();
  }
  if (ids.size() > k) cut();
}

}  // namespace diecast
