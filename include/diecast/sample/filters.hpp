// Filters narrow a set of ids: top-p (Holtzman et al. 2020, nucleus sampling) and min-p (Nguyen et al. 2024). Top-k is first_in_rank().
// Masses are whole numbers of 2^-42 of the likeliest token's, so their sums are exact: no order of summation can move the cut.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <diecast/sample/draw.hpp>
#include <diecast/sample/rank.hpp>

namespace diecast {

namespace detail {

inline constexpr double negligible = -30;  // exp(-30) * 2^42 rounds to 0; up to 2^22 ids the sum fits 64 bits

inline std::uint64_t mass(double relative) {
  return relative < negligible ? 0 : static_cast<std::uint64_t>(std::exp(relative) * 0x1p42 + 0.5);
}

inline constexpr std::size_t mass_buckets = 240;  // 8 for each unit of the exponent

inline std::size_t mass_bucket(double relative) {
  return relative <= negligible ? mass_buckets - 1 : std::min(static_cast<std::size_t>(-relative * 8), mass_buckets - 1);
}

}  // namespace detail

// Keeps the smallest set of likeliest ids whose mass is >= top_p of the mass of all given; never empty.
// Ids fall into buckets of likelihood first; the bucket where the mass is reached is halved until little is left to sort: linear time.
inline void keep_top_p(std::vector<int>& ids, const Relative& relative, double top_p) {
  if (top_p >= 1) return;
  std::array<std::uint64_t, detail::mass_buckets> bucket_mass{};
  std::uint64_t total = 0;
  for (const int id : ids) {
    const double value = relative(id);
    const std::uint64_t mass = detail::mass(value);
    bucket_mass[detail::mass_bucket(value)] += mass;
    total += mass;
  }
  const double wanted = top_p * static_cast<double>(total);
  std::uint64_t kept_mass = 0;
  std::size_t reached = 0;
  while (reached + 1 < detail::mass_buckets && static_cast<double>(kept_mass + bucket_mass[reached]) < wanted) kept_mass += bucket_mass[reached++];

  const auto first = std::partition(ids.begin(), ids.end(), [&](int id) { return detail::mass_bucket(relative(id)) < reached; });
  auto last = std::partition(first, ids.end(), [&](int id) { return detail::mass_bucket(relative(id)) == reached; });
  auto next = first;
  while (last - next > 64) {
    const auto middle = next + (last - next) / 2;
    std::nth_element(next, middle, last, ByRank{relative.logits});
    std::uint64_t half = 0;
    for (auto id = next; id != middle; ++id) half += detail::mass(relative(*id));
    if (static_cast<double>(kept_mass + half) < wanted) {
      kept_mass += half;
      next = middle;
    } else {
      last = middle;
    }
  }
  std::sort(next, last, ByRank{relative.logits});
  while (next != last && (next == ids.begin() || static_cast<double>(kept_mass) < wanted)) kept_mass += detail::mass(relative(*next++));
  ids.erase(next, ids.end());
}

// Keeps the ids that are at least min_p times as likely as the likeliest of all.
inline void keep_min_p(std::vector<int>& ids, const Relative& relative, double min_p) {
  if (min_p <= 0) return;
  const double least = std::log(min_p);
  std::erase_if(ids, [&](int id) { return relative(id) < least; });
}

}  // namespace diecast
