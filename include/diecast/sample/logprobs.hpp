// Log-probabilities of the model: before penalties, temperature and filters. Never -inf, never NaN, so that they fit into JSON.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include <diecast/sample/rank.hpp>

namespace diecast {

// log(sum of exp(z)), with the maximum taken off first so that nothing overflows and not everything underflows; summed by ascending id.
inline double log_sum_exp(std::span<const float> logits) {
  double max = -std::numeric_limits<double>::infinity();
  for (const float z : logits) max = std::max(max, static_cast<double>(z));
  if (max == -std::numeric_limits<double>::infinity()) return max;
  double sum = 0;
  for (const float z : logits) sum += std::exp(static_cast<double>(z) - max);
  return max + std::log(sum);
}

struct TokenLogprob {
  int id;
  double logprob;
};

struct TokenLogprobs {
  int id;          // the token that was chosen
  double logprob;  // its log-probability
  std::vector<TokenLogprob> top;  // the likeliest in order of rank, those without any probability left out
};

// Of the chosen id and of the `top` likeliest among the first `vocabulary` ids. All rows count in the sum: they are the model's.
inline TokenLogprobs token_logprobs(std::span<const float> logits, int vocabulary, int id, int top) {
  const double sum = log_sum_exp(logits);
  const auto logprob = [&](int of) { return static_cast<double>(logits[static_cast<std::size_t>(of)]) - sum; };
  const auto known = logits.first(std::min(logits.size(), static_cast<std::size_t>(std::max(vocabulary, 0))));
  std::vector<int> ids;
  first_in_rank(known, static_cast<std::size_t>(std::max(top, 0)), ids);
  std::sort(ids.begin(), ids.end(), ByRank{known});
  TokenLogprobs result{id, logprob(id), {}};
  for (const int best : ids) result.top.push_back({best, logprob(best)});
  return result;
}

}  // namespace diecast
