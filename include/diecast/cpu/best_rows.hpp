// The k best rows of a head, found by all threads together, each in its share of the panels. Without a screen a thread looks through the logits of its
// share while they are in its cache. With one it goes through the bounds, and computes what may be among the best. What comes out is defined by
// the exact logits alone: the k best and all that equal the last of them, whatever the number of threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include <diecast/cpu/lanes.hpp>
#include <diecast/cpu/product.hpp>
#include <diecast/cpu/screen.hpp>
#include <diecast/sample/candidate.hpp>
#include <diecast/sample/rank.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::cpu::inline DIECAST_ISA {

// The kth best of some logits, or minus infinity where there are fewer. NaN counts for nothing.
inline float kth_best(std::vector<float>& logits, int k) {
  std::erase_if(logits, [](float z) { return std::isnan(z); });
  const auto count = static_cast<std::size_t>(k);
  if (logits.size() < count) return -std::numeric_limits<float>::infinity();
  std::nth_element(logits.begin(), logits.begin() + (k - 1), logits.end(), std::greater<>());
  return logits[count - 1];
}

// The end: all threads' candidates of one row become the row's.
inline std::vector<Candidate> best_of(std::vector<Candidate> found, int k) {
  std::vector<float> logits;
  for (const Candidate& one : found) logits.push_back(one.logit);
  const float bar = kth_best(logits, k);
  std::erase_if(found, [bar](const Candidate& one) { return one.logit < bar; });
  std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) { return a.id < b.id; });
  return found;
}

// One thread's search for one row. The rows of its share are [first, last), of those that may be chosen.
class BestRows {
 public:
  // Of logits that are all there; logits[id].
  void look_through(const float* logits, int first, int last, int k) {
    begin(first, last);
    rank({logits + first, static_cast<std::size_t>(last - first)}, k);
    std::vector<float> ranked;
    for (const int i : ranked_) ranked.push_back(logits[first + i]);
    const float bar = kth_best(ranked, k);
    for (int id = first; id < last; ++id)
      if (!(logits[id] < bar)) found_.push_back({id, logits[id]});
  }

  // First half: the bounds of the share's rows, and the exact logits of those that look best. high and bounds: of this share, from `first` on.
  // compute(panel) puts the logits of a panel of the head where they belong in logits[vocab].
  template <class Compute>
  void screen(const float* high, const float* bounds, const float* logits, int first, int last, int k, const Compute& compute) {
    constexpr int looked_at = 32;
    begin(first, last);
    const auto count = static_cast<std::size_t>(last - first);
    rank({high, count}, (std::max)(k, looked_at));
    for (const int i : ranked_) once((first + i) / 16, compute);
    for (const int i : ranked_) sure_.push_back(logits[first + i]);
    // What the high part and the bound can come to, rounded up generously.
    upper_.resize(count + lanes);
    for (int i = 0; i < last - first; i += lanes) {
      const int left = last - first - i;
      const Floats z = load_tail(high + i, left);
      const Floats slack = fma(abs(z), broadcast(0x1p-21F), broadcast(1e-30F));
      store(upper_.data() + i, z + fma(load_tail(bounds + i, left), broadcast(1 + 0x1p-20F), slack));
    }
  }
  // The share's exact logits that are known so far.
  std::span<const float> sure() const { return sure_; }

  // Second half, when all threads are through the first: `bar` is the kth best of what all of them know.
  template <class Compute>
  void compute_survivors(const float* logits, float bar, const Compute& compute) {
    const Floats least = broadcast(bar);
    for (int i = 0; i < last_ - first_; i += lanes) {
      const int left = (std::min)(lanes, last_ - first_ - i);
      float survives[lanes];
      store(survives, where_less(load(upper_.data() + i), least, broadcast(0.0F), broadcast(1.0F)));  // NaN survives
      bool any = false;
      for (int lane = 0; lane < left; ++lane) any = any || survives[lane] != 0;
      if (!any) continue;
      once((first_ + i) / 16, compute);
      for (int lane = 0; lane < left; ++lane)
        if (survives[lane] != 0) {
          ++computed_;
          const int id = first_ + i + lane;
          if (!(logits[id] < bar)) found_.push_back({id, logits[id]});
        }
    }
  }

  const std::vector<Candidate>& found() const { return found_; }
  int computed() const { return computed_; }

 private:
  void begin(int first, int last) {
    first_ = first;
    last_ = last;
    computed_ = 0;
    sure_.clear();
    found_.clear();
    done_.assign(static_cast<std::size_t>((last - first) / 16 + 2), false);
  }
  void rank(std::span<const float> values, int k) { first_in_rank(values, static_cast<std::size_t>(k), ranked_); }
  template <class Compute>
  void once(int panel, const Compute& compute) {
    const auto at = static_cast<std::size_t>(panel - first_ / 16);
    if (done_[at]) return;
    done_[at] = true;
    compute(panel);
  }

  int first_ = 0, last_ = 0, computed_ = 0;
  std::vector<int> ranked_;
  std::vector<float> sure_, upper_;
  std::vector<Candidate> found_;
  std::vector<char> done_;
};

// |x| of each block of a token as its integers stand for it, rounded up by what the bound's own sum may lose.
inline void block_norms(const Activations& x, int row, float* norms) {
  const int blocks = x.blocks();
  const auto at = static_cast<std::size_t>(row) * static_cast<std::size_t>(x.cols);
  const auto up = static_cast<float>(1 + 4 * rounding(blocks));
  for (int block = 0; block < blocks; ++block) {
    double squares = 0;
    for (std::size_t i = 0; i < block_columns; ++i) {
      const std::size_t one = at + static_cast<std::size_t>(block) * block_columns + i;
      const int integer = x.lower ? 128 * x.integers[one] + x.lower[one] : x.integers[one];
      squares += static_cast<double>(integer) * integer;
    }
    const float scale = x.scales[static_cast<std::size_t>(row) * static_cast<std::size_t>(blocks) + static_cast<std::size_t>(block)];
    norms[block] = scale * static_cast<float>(std::sqrt(squares)) * up;
  }
}

}  // namespace diecast::cpu::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
