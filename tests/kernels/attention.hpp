// Attention over a paged cache against the definition in double: positions around the borders of blocks, chunks and tiles, windows, soft caps, rows of several
// sequences. Decode attention and that of prompts are given the same cases. Each unit that includes this takes a few shapes.
#pragma once

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <diecast/backend/block_table.hpp>
#include <diecast/kernels/attention.hpp>
#include <diecast/kernels/flash_attention.hpp>

#include "inputs.hpp"

namespace diecast_test {

using namespace diecast::kernels;

struct SeenRow {
  int sequence, position;
};
struct AttentionCase {
  std::vector<SeenRow> rows;
  int window;
  float soft_cap;
  int blocks;
  bool exact =
      false;  // each query picks some positions, all others' weights are 0, and values are whole numbers: the mean has one right rounding
};

// What an operation's results may be off by: its products' factors are rounded to `unit`, and a score is a sum of `terms` roundings.
struct Rounding {
  double unit;
  int terms;
};

// K and V of sequences whose blocks lie in the cache in no order; what no position holds stays unwritten.
template <HeadShape shape, class Element>
class CacheThere {
 public:
  static constexpr int d = shape.head_dim;
  using Layout = CacheLayout<shape.kv_heads, d, Element>;

  CacheThere(const AttentionCase& c, Numbers& numbers)
      : lengths_(lengths(c)), keys_(blocks() * shape.kv_heads * 16 * Layout::stride), values_(keys_.size()) {
    std::vector<int> order;
    for (int i = 0; i < blocks(); ++i) order.push_back(i);
    for (int i = blocks() - 1; i > 0; --i)
      std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(numbers.below(i + 1))]);
    std::vector<int> table(order.size(), -1000000);
    int next = 0;
    for (int sequence = 0; sequence < static_cast<int>(lengths_.size()); ++sequence) {
      k_.emplace_back();
      v_.emplace_back();
      for (int position = 0; position < lengths_[static_cast<std::size_t>(sequence)]; ++position) {
        int& block = table[static_cast<std::size_t>(sequence * per_sequence() + position / 16)];
        if (position % 16 == 0) block = order[static_cast<std::size_t>(next++)];
        for (int head = 0; head < shape.kv_heads; ++head) {
          const std::int64_t at = Layout::offset(static_cast<std::int64_t>(block) * 16 + position % 16, head);
          upload(keys_, at, k_.back(), [&] { return c.exact ? (numbers.below(4) == 0 ? 0.0f : -1024.0f) : numbers.real(); });
          upload(values_, at, v_.back(), [&] { return c.exact ? static_cast<float>(numbers.below(17) - 8) : numbers.real(); });
        }
      }
    }
    table_ = std::make_unique<Constants<int>>(table);
  }

  int longest() const { return *std::max_element(lengths_.begin(), lengths_.end()); }
  PagedTable table() const { return {table_->data(), per_sequence()}; }
  Cache<Element> cache() const { return {keys_.data(), values_.data()}; }
  double k(int sequence, int position, int head, int i) const { return k_[static_cast<std::size_t>(sequence)][at(position, head, i)]; }
  double v(int sequence, int position, int head, int i) const { return v_[static_cast<std::size_t>(sequence)][at(position, head, i)]; }

 private:
  static std::vector<int> lengths(const AttentionCase& c) {
    std::vector<int> out;
    for (const SeenRow& row : c.rows) {
      out.resize(std::max(out.size(), static_cast<std::size_t>(row.sequence) + 1));
      int& length = out[static_cast<std::size_t>(row.sequence)];
      length = std::max(length, row.position + 1);
    }
    return out;
  }
  static std::size_t at(int position, int head, int i) { return static_cast<std::size_t>((position * shape.kv_heads + head) * d + i); }
  int per_sequence() const { return (longest() + 15) / 16; }
  int blocks() const { return per_sequence() * static_cast<int>(lengths_.size()); }
  template <class Next>
  static void upload(const Values<Element>& to, std::int64_t at, std::vector<double>& known, const Next& next) {
    std::vector<Element> stored(static_cast<std::size_t>(Layout::stride), Stored<Element>::from(0.0f));
    for (int i = 0; i < d; ++i) {
      stored[static_cast<std::size_t>(i)] = Stored<Element>::from(next());
      known.push_back(static_cast<double>(to_float(stored[static_cast<std::size_t>(i)])));
    }
    memory().upload(to.data() + at, stored.data(), stored.size() * sizeof(Element));
  }

  std::vector<int> lengths_;
  Values<Element> keys_, values_;
  std::vector<std::vector<double>> k_, v_;  // [sequence][position, kv_heads, head_dim]
  std::unique_ptr<Constants<int>> table_;
};

template <class Op, class Decode, HeadShape shape, class Element>
int wrong_attention(const AttentionCase& c, Rounding rounding, std::uint64_t seed, bool every_schedule) {
  constexpr int d = shape.head_dim;
  Numbers numbers(seed);
  const int rows = static_cast<int>(c.rows.size());
  const CacheThere<shape, Element> there(c, numbers);
  std::vector<float> q = numbers.reals(rows * shape.heads * d);
  if (c.exact)
    for (std::size_t i = 0; i < q.size(); ++i)
      q[i] = i % static_cast<std::size_t>(d) == i / static_cast<std::size_t>(d) % static_cast<std::size_t>(d) ? 1.0f : 0.0f;
  const float scale = c.exact ? 1.0f : 3.0f / std::sqrt(static_cast<float>(d));
  std::vector<int> all, positions, sequences;
  for (const SeenRow& row : c.rows) {
    all.push_back(static_cast<int>(all.size()));
    positions.push_back(row.position);
    sequences.push_back(row.sequence);
  }
  const Step step(all, positions, sequences, {});
  const Constants<float> q_there(q);
  const int chunks = (there.longest() + attention_chunk - 1) / attention_chunk;
  Floats partials(rows * shape.heads * chunks * Decode::partial_values), out(rows * shape.heads * d);
  Values<std::uint32_t> arrivals(std::vector<std::uint32_t>(static_cast<std::size_t>(rows * shape.kv_heads * Decode::slices)));
  const typename Op::Params params{step.rows(), q_there.data(), there.table(),   there.cache(),   scale,     c.soft_cap,
                                   c.window,    chunks,         partials.data(), arrivals.data(), out.data()};
  if (every_schedule)
    launch<Op>(c.blocks, params);
  else
    launch_once<Op>(c.blocks, params);
  const std::vector<float> got = out.all();
  int wrong = 0;
  for (const std::uint32_t arrived : arrivals.all()) wrong += arrived != 0;
  for (int row = 0; row < rows; ++row)
    for (int head = 0; head < shape.heads; ++head) {
      const auto [sequence, position] = c.rows[static_cast<std::size_t>(row)];
      const int end = position + 1, first = c.window > 0 && end > c.window ? end - c.window : 0, kv = head / shape.group();
      const auto at = static_cast<std::size_t>((row * shape.heads + head) * d);
      std::vector<double> weights;
      double greatest = -std::numeric_limits<double>::infinity(), total = 0, size = 0;
      for (int seen = first; seen < end; ++seen) {
        double dot = 0, sum = 0;
        for (int i = 0; i < d; ++i) {
          const double product = static_cast<double>(q[at + static_cast<std::size_t>(i)]) * there.k(sequence, seen, kv, i);
          dot += product;
          sum += std::abs(product);
        }
        dot *= static_cast<double>(scale);
        size = std::max(size, sum * static_cast<double>(scale));
        if (c.soft_cap > 0) dot = static_cast<double>(c.soft_cap) * std::tanh(dot / static_cast<double>(c.soft_cap));
        weights.push_back(dot);
        greatest = std::max(greatest, dot);
      }
      for (double& weight : weights) total += weight = std::exp(weight - greatest);
      for (int i = 0; i < d; ++i) {
        double want = 0;
        for (int seen = first; seen < end; ++seen) want += weights[static_cast<std::size_t>(seen - first)] * there.v(sequence, seen, kv, i);
        want /= total;
        // A score errs by `terms` roundings of its products' size and by what was taken off its factors; a weight by as much, and by its own rounding; values
        // are at most 1, so the mean of them errs by twice that, and by the roundings of its sum.
        const double off = size * (rounding.unit + 0x1p-23 * rounding.terms) + rounding.unit + 0x1p-23 * ((end - first) / 4 + 32);
        const float value = got[at + static_cast<std::size_t>(i)];
        wrong += c.exact ? !(value == static_cast<float>(want)) : !within(value, want, 2 * std::expm1(off));
      }
    }
  return wrong;
}

// `check` of each case: positions alone, then rows of several sequences under every schedule.
template <HeadShape shape, class Check>
int sweep_attention(const Check& wrong) {
  int cases = 0;
  const auto check = [&](const AttentionCase& c, bool every_schedule) {
    INFO(shape.heads << ":" << shape.kv_heads << " x " << shape.head_dim << ", position " << c.rows.back().position << ", window "
                     << c.window << ", cap " << c.soft_cap << ", blocks " << c.blocks << ", exact " << c.exact);
    CHECK(wrong(c, cases, every_schedule) == 0);
    ++cases;
  };
  for (const int position : {0, 1, 15, 16, 62, 63, 64, 65, 127, 128, 200})
    for (const int window : {0, 1, 5, 70}) check({{{0, position}}, window, position % 2 == 0 ? 0.0f : 2.5f, position % 3 + 1}, false);
  check({{{0, 0}, {1, 130}, {2, 17}, {3, 64}}, 0, 0.0f, 3}, true);
  check({{{0, 3}, {1, 129}, {2, 64}}, 66, 5.0f, 1}, true);
  check({{{0, 100}, {1, 70}}, 0, 0.0f, 2, true}, false);
  return cases;
}
template <HeadShape shape, class Element, Team team>
int sweep_decode_attention(std::uint64_t seed) {
  using Op = Attention<shape, Element, team>;
  return sweep_attention<shape>([seed](const AttentionCase& c, int number, bool every_schedule) {
    return wrong_attention<Op, Op, shape, Element>(c, {0, shape.head_dim / 32 + 16}, seed + static_cast<std::uint64_t>(number),
                                                   every_schedule);
  });
}

// Rows of prompts: some begin in mid-sequence, some are a single token, tiles of queries hold parts of several.
inline std::vector<SeenRow> prompts(const std::vector<std::pair<int, int>>& ranges) {
  std::vector<SeenRow> rows;
  for (int sequence = 0; const auto& [begin, end] : ranges) {
    for (int position = begin; position < end; ++position) rows.push_back({sequence, position});
    ++sequence;
  }
  return rows;
}
template <HeadShape shape, class Element, Team team, class Rounded = Half>
int sweep_flash_attention(std::uint64_t seed) {
  using Op = FlashAttention<shape, Element, Rounded, team>;
  const double unit = std::is_same_v<typename Op::Element, Half> ? 0x1p-11 : 0x1p-9;
  // With a cache of floats K and V are rounded, too: a score's factors both, and the values.
  const Rounding rounding{std::is_same_v<Element, float> ? 2 * unit : unit, shape.head_dim};
  int cases = 0;
  const auto check = [&](const AttentionCase& c, bool every_schedule) {
    INFO(shape.heads << ":" << shape.kv_heads << " x " << shape.head_dim << ", " << c.rows.size() << " rows, the last at "
                     << c.rows.back().position << ", window " << c.window << ", cap " << c.soft_cap << ", blocks " << c.blocks << ", exact "
                     << c.exact);
    CHECK(wrong_attention<Op, Attention<shape, Element, team>, shape, Element>(c, rounding, seed + static_cast<std::uint64_t>(cases),
                                                                               every_schedule) == 0);
    ++cases;
  };
  for (const int position : {0, 15, 16, 63, 64, 65, 130})
    for (const int window : {0, 1, 5, 70}) check({{{0, position}}, window, position % 2 == 0 ? 0.0f : 2.5f, position % 3 + 1}, false);
  for (const int length : {2, 17, 64, 77})
    check({prompts({{0, length}}), length % 3 * 9, length == 17 ? 2.5f : 0.0f, length % 4 + 1}, false);
  check({prompts({{60, 91}, {0, 3}, {64, 65}}), 0, 0.0f, 3}, false);
  check({prompts({{0, 1}, {120, 139}, {5, 9}, {0, 20}}), 33, 3.0f, 2}, false);
  check({{{0, 70}, {1, 3}, {0, 71}, {1, 4}, {2, 0}}, 0, 0.0f, 1}, false);  // rows of sequences in turns
  check({prompts({{3, 40}, {0, 70}, {90, 92}}), 0, 0.0f, 2, true}, false);
  check({prompts({{0, 75}}), 7, 0.0f, 3, true}, false);
  check({prompts({{61, 70}, {0, 6}}), 66, 0.0f, 2}, true);
  return cases;
}

}  // namespace diecast_test
