// The best of a row of logits by sorting all of them: what a backend that gives nothing else must give.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include <diecast/sample/candidate.hpp>

namespace diecast::testing {

inline std::vector<Candidate> sorted_best(std::span<const float> logits, Best best) {
  std::vector<float> sorted;
  for (int id = 0; id < best.ids; ++id)
    if (!std::isnan(logits[static_cast<std::size_t>(id)])) sorted.push_back(logits[static_cast<std::size_t>(id)]);
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const auto count = static_cast<std::size_t>(best.count);
  const float bar = sorted.size() < count ? -std::numeric_limits<float>::infinity() : sorted[count - 1];
  std::vector<Candidate> candidates;
  for (int id = 0; id < best.ids; ++id)
    if (!(logits[static_cast<std::size_t>(id)] < bar)) candidates.push_back({id, logits[static_cast<std::size_t>(id)]});
  return candidates;
}

}  // namespace diecast::testing
