// Attention over the cache: keys and values of a head are read once for all queries that see them. Positions are taken in fixed chunks, each
// with its own greatest score, and chunks are merged in their order, so that a query's result is the same bits whoever reads beside it
// and however the chunks are shared among threads.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>

#include <diecast/cpu/cache.hpp>
#include <diecast/cpu/math.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::cpu::inline DIECAST_ISA {

inline constexpr int chunk_positions = 256;

struct Query {
  const float* values;  // [head_dim]
  int first, last;      // the positions that it sees: [first, last)
};

// What attention over some positions comes to: out / total is the weighted mean of their values.
struct Partial {
  float greatest = -std::numeric_limits<float>::infinity();
  float total = 0;
  float* out{};  // [head_dim padded to 16]
};

struct AttentionNumbers {
  float scale;
  std::optional<float> soft_cap;
};

// Takes what later positions come to into what the earlier ones came to.
inline void merge(Partial& into, const Partial& later, std::size_t width) {
  const float most = later.greatest > into.greatest ? later.greatest : into.greatest;
  float weights[2];
  float differences[16] = {into.greatest - most, later.greatest - most};
  float powers[16];
  store(powers, exp(load(differences)));
  weights[0] = into.total == 0 ? 0 : powers[0];  // nothing yet: its greatest is minus infinity
  weights[1] = powers[1];
  for (std::size_t i = 0; i < width; i += lanes)
    store(into.out + i, fma(load(into.out + i), broadcast(weights[0]), load(later.out + i) * broadcast(weights[1])));
  into.total = into.total * weights[0] + later.total * weights[1];
  into.greatest = most;
}

namespace inner {

// Scores of some queries for the panels [first, last) of a chunk: 16 positions at once.
template <CacheType type, std::size_t Queries, class Block>
[[gnu::flatten]] void score(const Query* queries, int head_dim, int first, int last, const Block& block, float* scores, std::size_t stride) {
  const auto panels = [&]<std::size_t Panels>(int panel) {
    const typename Cached<type>::Element* keys[Panels];
    unrolled<Panels>([&](auto p) { keys[p] = block(panel + static_cast<int>(p())); });
    Floats sums[Queries][Panels];
    unrolled<Queries>([&](auto q) { unrolled<Panels>([&](auto p) { sums[q][p] = broadcast(0.0F); }); });
    for (int i = 0; i < head_dim; ++i) {
      Floats key[Panels];
      unrolled<Panels>([&](auto p) { key[p] = Cached<type>::get(keys[p] + 16 * i); });
      unrolled<Queries>([&](auto q) {
        const Floats number = broadcast(queries[q].values[i]);
        unrolled<Panels>([&](auto p) { sums[q][p] = fma(number, key[p], sums[q][p]); });
      });
    }
    if constexpr (Cached<type>::scaled) {
      unrolled<Panels>([&](auto p) {
        const Floats scales = load(scales_of<type>(keys[p], head_dim, round_up(head_dim, lanes)));
        unrolled<Queries>([&](auto q) { sums[q][p] = sums[q][p] * scales; });
      });
    }
    unrolled<Queries>([&](auto q) { unrolled<Panels>([&](auto p) { store(scores + q * stride + 16 * (static_cast<std::size_t>(panel) + p), sums[q][p]); }); });
  };
  int panel = first;
  constexpr int together = Queries > 2 ? 4 : 8;  // enough sums in flight to hide how long each addition takes
  for (; panel + together <= last; panel += together) panels.template operator()<together>(panel);
  for (; panel < last; ++panel) panels.template operator()<1>(panel);
}

// Weighted sums of the values at positions [first, last) of a chunk, 64 columns at a time.
template <CacheType type, std::size_t Queries, class Block>
[[gnu::flatten]] void weigh(const float* weights, std::size_t stride, int head_dim, int width, int first, int last, const Block& block, const Partial* out) {
  const auto columns = [&]<std::size_t Vectors>(int column) {
    Floats sums[Queries][Vectors];
    unrolled<Queries>([&](auto q) { unrolled<Vectors>([&](auto v) { sums[q][v] = broadcast(0.0F); }); });
    for (int position = first; position < last; ++position) {
      const auto* values = block(position / 16) + 16 * head_dim + position % 16 * width + column;
      Floats value[Vectors];
      unrolled<Vectors>([&](auto v) { value[v] = Cached<type>::get(values + 16 * v); });
      unrolled<Queries>([&](auto q) {
        float one = weights[q * stride + static_cast<std::size_t>(position)];
        if constexpr (Cached<type>::scaled) one *= scales_of<type>(block(position / 16), head_dim, width)[16 + position % 16];
        const Floats weight = broadcast(one);
        unrolled<Vectors>([&](auto v) { sums[q][v] = fma(weight, value[v], sums[q][v]); });
      });
    }
    unrolled<Queries>([&](auto q) { unrolled<Vectors>([&](auto v) { store(out[q].out + column + 16 * static_cast<int>(v()), sums[q][v]); }); });
  };
  int column = 0;
  for (; column + 64 <= width; column += 64) columns.template operator()<4>(column);
  for (; column < width; column += 16) columns.template operator()<1>(column);
}

// Scores to weights, in place; the positions that the query does not see get 0.
inline void soften(float* scores, int first, int last, int from, int to, const AttentionNumbers& numbers, Partial& partial) {
  const Floats masked = broadcast(-std::numeric_limits<float>::infinity());
  Floats most = masked;
  for (int at = first; at < last; at += lanes) {
    Floats s = load(scores + at) * broadcast(numbers.scale);
    if (numbers.soft_cap) s = broadcast(*numbers.soft_cap) * tanh(s / broadcast(*numbers.soft_cap));
    const int low = from - at < 0 ? 0 : from - at > lanes ? lanes : from - at, high = to - at < 0 ? 0 : to - at > lanes ? lanes : to - at;
    s = within(low, high, s, masked);
    store(scores + at, s);
    most = larger(most, s);
  }
  partial.greatest = greatest(most);
  Floats total = broadcast(0.0F);
  for (int at = first; at < last; at += lanes) {
    const Floats weight = exp(load(scores + at) - broadcast(partial.greatest));
    store(scores + at, weight);
    total = total + weight;
  }
  partial.total = sum(total);
}

}  // namespace inner

// One chunk for `count` queries. block(i) is the i-th block of the chunk's sequence. scores: [count][chunk_positions].
// parts[q] is filled for the queries that see some of the chunk, and left alone for the others; returns nothing of them.
template <CacheType type, int HeadDim, class Block>
void attend_chunk(int chunk, const Query* queries, std::size_t count, int run_time_head_dim, const Block& block_at, const AttentionNumbers& numbers, float* scores,
                  Partial* parts) {
  const int head_dim = HeadDim == 0 ? run_time_head_dim : HeadDim, width = round_up(head_dim, lanes);
  const int base = chunk * chunk_positions;
  int first = chunk_positions, last = 0;  // what any query sees, within the chunk
  for (std::size_t q = 0; q < count; ++q) {
    const int from = queries[q].first - base, to = queries[q].last - base;
    if (to <= 0 || from >= chunk_positions) continue;
    first = from < first ? (from < 0 ? 0 : from) : first;
    last = to > last ? (to > chunk_positions ? chunk_positions : to) : last;
  }
  if (first >= last) return;
  const int first_panel = first / 16, last_panel = (last + 15) / 16;
  const typename Cached<type>::Element* blocks[chunk_positions / 16];
  for (int panel = first_panel; panel < last_panel; ++panel) blocks[panel] = block_at(base / 16 + panel);
  const auto block = [&](int panel) { return blocks[panel]; };
  const auto in_tiles = [&](const auto& tile) {
    std::size_t q = 0;
    for (; q + 4 <= count; q += 4) tile.template operator()<4>(q);
    if (count - q == 3) tile.template operator()<3>(q);
    if (count - q == 2) tile.template operator()<2>(q);
    if (count - q == 1) tile.template operator()<1>(q);
  };
  in_tiles([&]<std::size_t Queries>(std::size_t q) {
    inner::score<type, Queries>(queries + q, head_dim, first_panel, last_panel, block, scores + q * chunk_positions, chunk_positions);
  });
  for (std::size_t q = 0; q < count; ++q) {
    const int from = queries[q].first - base, to = queries[q].last - base;
    inner::soften(scores + q * chunk_positions, 16 * first_panel, 16 * last_panel, from, to, numbers, parts[q]);
  }
  in_tiles([&]<std::size_t Queries>(std::size_t q) {
    inner::weigh<type, Queries>(scores + q * chunk_positions, chunk_positions, head_dim, width, first, last, block, parts + q);
  });
}

inline bool sees(const Query& query, int chunk) { return query.first < (chunk + 1) * chunk_positions && query.last > chunk * chunk_positions; }

}  // namespace diecast::cpu::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
