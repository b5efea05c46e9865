// Norm + Q/K/V + bias (+ norms of heads) + RoPE + append, fused and in two steps, against double. Rows of several sequences whose cache blocks are
// interleaved; every value lands where BlockTable says, and nothing else is written.
#pragma once

#include <catch2/catch.hpp>

#include <vector>

#include <diecast/backend/block_table.hpp>
#include <diecast/kernels/norm_rope_append.hpp>
#include <diecast/kernels/project_qkv.hpp>
#include <diecast/kernels/qkv_append.hpp>

#include "oracle.hpp"

namespace diecast_test {

using namespace diecast::kernels;

struct QkvCase {
  int rows, blocks;
  bool bias, branch, every_schedule;
};

enum class Path { fused, each_head, all_heads };

template <int hidden, HeadShape shape, RotaryDim rotary, Prologue prologue, class Element, Team team, Path path>
int wrong_qkv(const QkvCase& c, std::uint64_t seed) {
  constexpr int d = shape.head_dim, q_width = shape.heads * d, kv_width = shape.kv_heads * d, positions = 40;
  using Layout = CacheLayout<shape.kv_heads, d, Element>;
  Numbers numbers(seed);
  diecast::BlockTable table(3 * 48);
  std::vector<int> of_row, sequences;
  for (int i = 0; i < 3; ++i) table.add();
  std::vector<std::pair<int, int>> all;
  for (int position = 0; position < 35; ++position)
    for (int sequence = 0; sequence < 3; ++sequence) all.emplace_back(sequence, table.append(sequence));
  for (int i = 0; i < c.rows; ++i) {
    const auto [sequence, position] = all[static_cast<std::size_t>((i * 31 + static_cast<int>(seed % 7)) % static_cast<int>(all.size()))];
    sequences.push_back(sequence);
    of_row.push_back(position);
  }
  std::vector<int> blocks(3 * 3, -1000000);
  for (int sequence = 0; sequence < 3; ++sequence)
    for (int at = 0; at < 35; at += 16)
      blocks[static_cast<std::size_t>(sequence * 3 + at / 16)] = static_cast<int>(table.slot(sequence, at)) / 16;

  const StreamThere<prologue, hidden> stream(c.rows, c.branch, numbers);
  const MatrixThere q(q_width, hidden, c.bias, numbers), k(kv_width, hidden, c.bias, numbers), v(kv_width, hidden, c.bias, numbers);
  const bool all_heads = path == Path::all_heads;
  const NormThere q_norm(all_heads ? q_width : d, false, 1e-6f, numbers), k_norm(all_heads ? kv_width : d, false, 1e-6f, numbers);
  const AnglesThere angles(rotary.value, positions);
  const Step step(of_row, of_row, sequences, {});
  const Constants<int> blocks_there(blocks);
  const int cache_size = table.blocks() * shape.kv_heads * 16 * Layout::stride;
  Values<Element> keys(cache_size), values(cache_size);
  Floats queries(c.rows * q_width);
  const PagedTable paged{blocks_there.data(), 3};
  const Cache<Element> cache{keys.data(), values.data()};
  const auto run = [&]<class Op>(std::type_identity<Op>, const typename Op::Params& params) {
    c.every_schedule ? launch<Op>(c.blocks, params) : launch_once<Op>(c.blocks, params);
  };
  if constexpr (path == Path::fused) {
    run(std::type_identity<QkvAppend<Hidden{hidden}, shape, rotary, prologue, two_forms, Element, team>>{},
        {step.rows(), stream.stream(), q.there.linear(), k.there.linear(), v.there.linear(), angles.angles(), paged, cache,
         queries.data()});
  } else {
    Floats projected(c.rows * (q_width + 2 * kv_width));
    run(std::type_identity<ProjectQkv<Hidden{hidden}, shape, prologue, two_forms, team>>{},
        {step.rows(), stream.stream(), q.there.linear(), k.there.linear(), v.there.linear(), projected.data()});
    run(std::type_identity<
            NormRopeAppend<shape, rotary, path == Path::all_heads ? HeadNorm::all_heads : HeadNorm::each_head, Element, team>>{},
        {step.rows(), projected.data(), q_norm.weight_there.data(), k_norm.weight_there.data(), 1e-6f, angles.angles(), paged, cache,
         queries.data()});
  }

  const std::vector<float> got_q = queries.all();
  const std::vector<Element> got_k = keys.all(), got_v = values.all();
  int wrong = stream.wrong_updates(c.rows);
  std::size_t written = 0;
  const double bound = path == Path::fused ? product_bound(hidden) : product_bound(hidden) / 4,
               of_storing = sizeof(Element) == 4 ? 0 : 0x1p-8;
  std::vector<std::pair<int, int>> seen;
  for (int row = 0; row < c.rows; ++row) {
    const int position = of_row[static_cast<std::size_t>(row)], sequence = sequences[static_cast<std::size_t>(row)];
    const Row x = stream.input(row);
    Row of_q = product(q.weights, q.bias, x), of_k = product(k.weights, k.bias, x);
    const Row of_v = product(v.weights, v.bias, x);
    for (auto* heads : {&of_q, &of_k}) {
      const NormThere& norm = heads == &of_q ? q_norm : k_norm;
      if (path == Path::all_heads) *heads = normalised(NormKind::rms, *heads, norm.weight, {}, norm.epsilon);
      for (std::size_t at = 0; at < heads->size(); at += static_cast<std::size_t>(d)) {
        if (path == Path::each_head) {
          const Row one = normalised(
              NormKind::rms, Row(heads->begin() + static_cast<std::ptrdiff_t>(at), heads->begin() + static_cast<std::ptrdiff_t>(at) + d),
              norm.weight, {}, norm.epsilon);
          std::copy(one.begin(), one.end(), heads->begin() + static_cast<std::ptrdiff_t>(at));
        }
        rotate(heads->data() + at, rotary.value, position);
      }
    }
    for (int i = 0; i < q_width; ++i)
      wrong += !within(got_q[static_cast<std::size_t>(row * q_width + i)], of_q[static_cast<std::size_t>(i)], bound);
    for (int head = 0; head < shape.kv_heads; ++head) {
      const std::int64_t at = Layout::offset(static_cast<std::int64_t>(table.slot(sequence, position)), head);
      for (int i = 0; i < Layout::stride; ++i) {
        const auto place = static_cast<std::size_t>(at + i);
        const double want_k = i < d ? of_k[static_cast<std::size_t>(head * d + i)] : 0,
                     want_v = i < d ? of_v[static_cast<std::size_t>(head * d + i)] : 0;
        wrong += !within(to_float(got_k[place]), want_k, bound + of_storing * std::abs(want_k));
        wrong += !within(to_float(got_v[place]), want_v, bound + of_storing * std::abs(want_v));
      }
    }
    if (std::find(seen.begin(), seen.end(), std::pair(sequence, position)) == seen.end()) {
      seen.emplace_back(sequence, position);
      written += static_cast<std::size_t>(shape.kv_heads * Layout::stride) * sizeof(Element);
    }
  }
  wrong += keys.unwritten() != static_cast<std::size_t>(cache_size) * sizeof(Element) - written;
  wrong += values.unwritten() != static_cast<std::size_t>(cache_size) * sizeof(Element) - written;
  return wrong;
}

template <int hidden, HeadShape shape, RotaryDim rotary, Prologue prologue, class Element, Team team, Path path>
int sweep_qkv(std::uint64_t seed) {
  int cases = 0;
  for (const int rows : {1, 2, 4, 5})
    for (const int blocks : {1, 2, 7})
      for (const bool bias : {false, true}) {
        const QkvCase c{rows, blocks, bias, rows % 2 == 1, rows == 2 && blocks == 2};
        INFO(hidden << ", " << shape.heads << ":" << shape.kv_heads << " x " << shape.head_dim << ", rotary " << rotary.value << ", "
                    << rows << " rows, " << blocks << " blocks, bias " << bias);
        CHECK(wrong_qkv<hidden, shape, rotary, prologue, Element, team, path>(c, seed + static_cast<std::uint64_t>(cases)) == 0);
        ++cases;
      }
  return cases;
}

}  // namespace diecast_test
