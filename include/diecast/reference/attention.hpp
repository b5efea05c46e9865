// Softmax attention of one query head over the keys and values that the cache holds for its sequence.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include <diecast/isa.hpp>
#include <diecast/reference/matrix.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::reference::inline DIECAST_ISA {

// Scores to weights that add up to 1. The greatest score is subtracted first, so nothing overflows; a score of minus infinity is masked.
// Where every score is masked, every weight is 0.
template <class Real>
void softmax(std::span<Real> scores) {
  Real greatest = -std::numeric_limits<Real>::infinity();
  for (Real score : scores) greatest = score > greatest || score != score ? score : greatest;
  if (greatest == -std::numeric_limits<Real>::infinity()) {
    for (Real& score : scores) score = 0;
    return;
  }
  Real sum = 0;
  for (Real& score : scores) {
    score = std::exp(score - greatest);
    sum += score;
  }
  for (Real& score : scores) score /= sum;
}

struct AttentionNumbers {
  double scale;                    // of q . k
  std::optional<double> soft_cap;  // s -> cap * tanh(s / cap)
};

// key(i) and value(i) give the i-th visible position's vectors, oldest first: [head_dim].
template <class Real, class Key, class Value>
Vector<Real> attend(const Vector<Real>& query, int positions, const AttentionNumbers& numbers, const Key& key, const Value& value) {  // -> [head_dim]
  std::vector<Real> weights(static_cast<std::size_t>(positions));
  for (int i = 0; i < positions; ++i) {
    Real score = query.dot(key(i)) * static_cast<Real>(numbers.scale);
    if (numbers.soft_cap) {
      const Real cap = static_cast<Real>(*numbers.soft_cap);
      score = cap * std::tanh(score / cap);
    }
    weights[static_cast<std::size_t>(i)] = score;
  }
  softmax<Real>(weights);
  Vector<Real> out = Vector<Real>::Zero(query.size());
  for (int i = 0; i < positions; ++i) out += weights[static_cast<std::size_t>(i)] * value(i);
  return out;
}

}  // namespace diecast::reference::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
