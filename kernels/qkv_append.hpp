// Norm + Q, K and V + bias + RoPE + append to the cache, in one pass. A warp multiplies the two rows whose results turn together, pair
// (i, i + rotary_dim / 2) in the half-split order of HF, so K is written once, turned, where attention reads it, and nothing comes to lie between.
#pragma once

#include <algorithm>
#include <cstdint>

#include <diecast/kernels/context.hpp>
#include <diecast/kernels/multiply_row.hpp>
#include <diecast/kernels/paged_cache.hpp>
#include <diecast/kernels/rotate.hpp>
#include <diecast/kernels/shapes.hpp>
#include <diecast/kernels/stream.hpp>
#include <diecast/kernels/token_rows.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

// The pairs of a head: first those that turn, then the rest, paired in the same way; of an odd head the last has no second.
template <int head_dim, int rotary_dim>
struct HeadPairs {
  static constexpr int turning = rotary_dim / 2;
  static constexpr int count = turning + (head_dim - rotary_dim + 1) / 2;
  DIECAST_DEVICE static constexpr bool turns(int pair) { return pair < turning; }
  DIECAST_DEVICE static constexpr int first(int pair) { return pair < turning ? pair : pair + turning; }
  DIECAST_DEVICE static constexpr int second(int pair) { return first(pair) + (pair < turning ? turning : count - turning); }
};

template <Hidden hidden, HeadShape shape, RotaryDim rotary, Prologue prologue, FormSet set, class CacheElement, Team team>
struct QkvAppend {
  static_assert(shape.heads > 0 && shape.kv_heads > 0 && shape.head_dim > 0, "heads, kv_heads and head_dim must be positive");
  static_assert(shape.heads % shape.kv_heads == 0, "kv_heads must divide heads");
  static_assert(rotary.value >= 0 && rotary.value % 2 == 0, "rotary_dim must be even");
  static_assert(rotary.value <= shape.head_dim, "rotary_dim must not be larger than head_dim");
  static constexpr int threads = team.threads;

  struct Params {
    TokenRows rows;
    Stream stream;
    Linear q, k, v;
    Angles angles;
    PagedTable table;
    Cache<CacheElement> cache;
    float* out;  // [row, heads, head_dim] queries
  };
  struct Shared {
    Activations<hidden.value, set, team.tokens> x;
    BlockSumShared<threads> sum;
  };

  // The weights that this warp begins with.
  template <ExecutionContext C>
  DIECAST_DEVICE static void prefetch(C& ctx, const Params& p) {
    const Item item = item_of(ctx.block() * (threads / warp_lanes) + ctx.warp());
    if (item.head >= item.heads()) return;
    prefetch_row<hidden.value, set>(ctx, item.linear(p), item.row(item.first));
    if (item.has_second) prefetch_row<hidden.value, set>(ctx, item.linear(p), item.row(item.second));
  }

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared& shared) {
    constexpr int warps = threads / warp_lanes, items = (shape.heads + 2 * shape.kv_heads) * Pairs::count;
    const int rows = row_count(ctx, p.rows);
    for (int begin = 0; begin < rows; begin += team.tokens) {
      const int count = rows - begin < team.tokens ? rows - begin : team.tokens;
      for (int t = 0; t < count; ++t) fill_from_stream<prologue, threads>(ctx, shared.x, t, begin + t, p.stream, shared.sum);
      ctx.barrier();
      for (int item = ctx.block() * warps + ctx.warp(); item < items; item += ctx.blocks() * warps)
        one_pair(ctx, p, shared, item_of(item), begin, count);
      ctx.barrier();  // the next rows come into the same place
    }
  }

  // What prefill.hpp shares.
  using Pairs = HeadPairs<shape.head_dim, rotary.value>;
  using Layout = CacheLayout<shape.kv_heads, shape.head_dim, CacheElement>;

  // A pair of one head: of Q, of K or of V.
  struct Item {
    bool is_q, is_k;
    int head, pair, first, second;
    bool has_second;
    DIECAST_DEVICE int heads() const { return is_q ? shape.heads : shape.kv_heads; }
    DIECAST_DEVICE Linear linear(const Params& p) const { return one_of(is_q, is_k, p.q, p.k, p.v); }
    DIECAST_DEVICE std::int64_t row(int i) const { return static_cast<std::int64_t>(head) * shape.head_dim + i; }
  };
  DIECAST_DEVICE static Item item_of(int number) {
    const int all_heads = number / Pairs::count, pair = number % Pairs::count;
    const bool is_q = all_heads < shape.heads, is_k = !is_q && all_heads < shape.heads + shape.kv_heads;
    const int head = is_q ? all_heads : is_k ? all_heads - shape.heads : all_heads - shape.heads - shape.kv_heads;
    return {is_q, is_k, head, pair, Pairs::first(pair), Pairs::second(pair), Pairs::second(pair) < shape.head_dim};
  }

  // A pair of a token row: turned where it turns, to where it is read. (Prompts end here, too: prefill.hpp.)
  template <ExecutionContext C>
  DIECAST_DEVICE static void put(C& ctx, const Params& p, const Item& item, int row, Turned values) {
    const int position = ctx.load(p.rows.positions, row);
    if (Pairs::turns(item.pair) && (item.is_q || item.is_k))
      values = turn(ctx, p.angles, static_cast<std::int64_t>(position) * Pairs::turning + item.pair, values.first, values.second);
    if (item.is_q) {
      const std::int64_t at = (static_cast<std::int64_t>(row) * shape.heads + item.head) * shape.head_dim;
      ctx.store(p.out, at + item.first, values.first);
      if (item.has_second) ctx.store(p.out, at + item.second, values.second);
    } else {
      CacheElement* to = item.is_k ? p.cache.keys : p.cache.values;
      const std::int64_t at = Layout::offset(p.table.slot(ctx, ctx.load(p.rows.sequences, row), position), item.head);
      ctx.store(to, at + item.first, ctx.narrow(values.first, CacheElement{}));
      if (item.has_second) ctx.store(to, at + item.second, ctx.narrow(values.second, CacheElement{}));
      if (item.pair == Pairs::count - 1)
        for (int i = shape.head_dim; i < Layout::stride; ++i) ctx.store(to, at + i, ctx.narrow(0.0f, CacheElement{}));
    }
  }

 private:
  template <ExecutionContext C>
  DIECAST_DEVICE static void one_pair(C& ctx, const Params& p, Shared& shared, const Item& item, int begin, int count) {
    float of_first[team.tokens], of_second[team.tokens];
    multiply_row(ctx, item.linear(p), item.row(item.first), shared.x, count, of_first);
    multiply_row(ctx, item.linear(p), item.row(item.has_second ? item.second : item.first), shared.x, count, of_second);
    const int t = ctx.lane();
    if (t < count) put(ctx, p, item, begin + t, {of_lane(of_first, t), of_lane(of_second, t)});
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
