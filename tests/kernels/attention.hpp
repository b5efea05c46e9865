// Attention over a paged cache against the definition in double: positions around the borders of blocks and chunks, windows, soft caps.
// Each unit that includes this takes a few shapes.
#pragma once

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include <diecast/backend/block_table.hpp>
#include <diecast/kernels/attention.hpp>

#include "inputs.hpp"

namespace diecast_test {

using namespace diecast::kernels;

struct AttentionCase {
  std::vector<int> positions;  // a row each, of a sequence of its own
  int window;
  float soft_cap;
  int blocks;
};

// A cache of several sequences whose blocks lie in no order, K and V random; what no position holds stays unwritten.
template <HeadShape shape, class Element, Team team>
int wrong_attention(const AttentionCase& c, std::uint64_t seed, bool every_schedule) {
  using Op = Attention<shape, Element, team>;
  using Layout = typename Op::Layout;
  Numbers numbers(seed);
  const int rows = static_cast<int>(c.positions.size()), d = shape.head_dim;
  int longest = 0;
  for (const int position : c.positions) longest = std::max(longest, position + 1);
  const int per_sequence = (longest + 15) / 16, cache_blocks = rows * per_sequence;
  std::vector<int> order(static_cast<std::size_t>(cache_blocks)), table(static_cast<std::size_t>(cache_blocks), -1000000);
  for (int i = 0; i < cache_blocks; ++i) order[static_cast<std::size_t>(i)] = i;
  for (int i = cache_blocks - 1; i > 0; --i)
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(numbers.below(i + 1))]);
  Values<Element> keys(cache_blocks * shape.kv_heads * 16 * Layout::stride), values(keys.size());
  std::vector<int> all_rows;
  std::vector<std::vector<double>> k(static_cast<std::size_t>(rows)), v(static_cast<std::size_t>(rows));  // [position, kv_heads, head_dim]
  int next = 0;
  for (int row = 0; row < rows; ++row) {
    const int length = c.positions[static_cast<std::size_t>(row)] + 1;
    for (int position = 0; position < length; ++position) {
      if (position % 16 == 0) table[static_cast<std::size_t>(row * per_sequence + position / 16)] = order[static_cast<std::size_t>(next++)];
      const std::int64_t slot =
          static_cast<std::int64_t>(table[static_cast<std::size_t>(row * per_sequence + position / 16)]) * 16 + position % 16;
      for (int head = 0; head < shape.kv_heads; ++head)
        for (const bool is_k : {true, false}) {
          std::vector<Element> stored(static_cast<std::size_t>(Layout::stride), Stored<Element>::from(0.0f));
          for (int i = 0; i < d; ++i) {
            stored[static_cast<std::size_t>(i)] = Stored<Element>::from(numbers.real());
            (is_k ? k : v)[static_cast<std::size_t>(row)].push_back(static_cast<double>(to_float(stored[static_cast<std::size_t>(i)])));
          }
          memory().upload((is_k ? keys : values).data() + Layout::offset(slot, head), stored.data(), stored.size() * sizeof(Element));
        }
    }
    all_rows.push_back(row);
  }
  const std::vector<float> q = numbers.reals(rows * shape.heads * d);
  const float scale = 3.0f / std::sqrt(static_cast<float>(d));
  const Step step(all_rows, c.positions, all_rows, {});
  const Constants<float> q_there(q);
  const Constants<int> table_there(table);
  const int chunks = (longest + attention_chunk - 1) / attention_chunk;
  Floats partials(rows * shape.heads * chunks * Op::partial_values), out(rows * shape.heads * d);
  Values<std::uint32_t> arrivals(std::vector<std::uint32_t>(static_cast<std::size_t>(rows * shape.kv_heads * Op::slices)));
  const typename Op::Params params{step.rows(),
                                   q_there.data(),
                                   {table_there.data(), per_sequence},
                                   {keys.data(), values.data()},
                                   scale,
                                   c.soft_cap,
                                   c.window,
                                   chunks,
                                   partials.data(),
                                   arrivals.data(),
                                   out.data()};
  if (every_schedule)
    launch<Op>(c.blocks, params);
  else
    launch_once<Op>(c.blocks, params);
  const std::vector<float> got = out.all();
  int wrong = 0;
  for (const std::uint32_t arrived : arrivals.all()) wrong += arrived != 0;
  for (int row = 0; row < rows; ++row)
    for (int head = 0; head < shape.heads; ++head) {
      const int end = c.positions[static_cast<std::size_t>(row)] + 1, first = c.window > 0 && end > c.window ? end - c.window : 0,
                kv = head / shape.group();
      const auto at = [&](int position) {
        return (static_cast<std::size_t>(position * shape.kv_heads + kv)) * static_cast<std::size_t>(d);
      };
      const auto uz = [](int i) { return static_cast<std::size_t>(i); };
      std::vector<double> weights;
      double greatest = -std::numeric_limits<double>::infinity(), total = 0;
      for (int position = first; position < end; ++position) {
        double dot = 0;
        for (int i = 0; i < d; ++i)
          dot += static_cast<double>(q[uz((row * shape.heads + head) * d + i)]) * k[uz(row)][at(position) + uz(i)];
        dot *= static_cast<double>(scale);
        if (c.soft_cap > 0) dot = static_cast<double>(c.soft_cap) * std::tanh(dot / static_cast<double>(c.soft_cap));
        weights.push_back(dot);
        greatest = std::max(greatest, dot);
      }
      for (double& weight : weights) total += weight = std::exp(weight - greatest);
      for (int i = 0; i < d; ++i) {
        double want = 0;
        for (int position = first; position < end; ++position)
          want += weights[uz(position - first)] / total * v[uz(row)][at(position) + uz(i)];
        // Scores err by (d + 8) roundings of at most 3 sqrt(d); a weight by as much; values are at most 1, so the mean of them errs by twice that.
        const double bound = 2 * 0x1p-23 * ((d / 32 + 16) * 3 * std::sqrt(d) + (end - first) / 4 + 16);
        wrong += !within(got[uz((row * shape.heads + head) * d + i)], want, bound);
      }
    }
  return wrong;
}

template <HeadShape shape, class Element, Team team>
int sweep_attention(std::uint64_t seed) {
  int cases = 0;
  const auto check = [&](const AttentionCase& c, bool every_schedule) {
    INFO(shape.heads << ":" << shape.kv_heads << " x " << shape.head_dim << ", position " << c.positions.back() << ", window " << c.window
                     << ", cap " << c.soft_cap << ", blocks " << c.blocks);
    CHECK(wrong_attention<shape, Element, team>(c, seed + static_cast<std::uint64_t>(cases), every_schedule) == 0);
    ++cases;
  };
  for (const int position : {0, 1, 15, 16, 62, 63, 64, 65, 127, 128, 200})
    for (const int window : {0, 1, 5, 70}) check({{position}, window, position % 2 == 0 ? 0.0f : 2.5f, position % 3 + 1}, false);
  check({{0, 130, 17, 64}, 0, 0.0f, 3}, true);
  check({{3, 129, 64}, 66, 5.0f, 1}, true);
  return cases;
}

}  // namespace diecast_test
