// Norm + Q, K and V + bias + RoPE + append to the cache, in one pass. A warp multiplies the two rows whose results turn together, pair
// (i, i + rotary_dim / 2) in the half-split order of HF, so K is written once, turned, where attention reads it, and nothing comes to lie between.
#pragma once

#include <cstdint>

#include <diecast/kernels/context.hpp>
#include <diecast/kernels/heads.hpp>
#include <diecast/kernels/paged_cache.hpp>
#include <diecast/kernels/rotate.hpp>
#include <diecast/kernels/row_products.hpp>
#include <diecast/kernels/shapes.hpp>
#include <diecast/kernels/stream.hpp>
#include <diecast/kernels/token_rows.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

template <Hidden hidden, HeadShape shape, RotaryDim rotary, Prologue prologue, FormSet set, class CacheElement, Team team>
struct QkvAppend {
  static_assert(Checked<shape, rotary>::ok);
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
    const OfHead of = of_head<shape>(number / Pairs::count);
    const int pair = number % Pairs::count;
    return {of.is_q, of.is_k, of.head, pair, Pairs::first(pair), Pairs::second(pair), Pairs::second(pair) < shape.head_dim};
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

  using Products = RowProducts<hidden.value, set, team, 2>;
  using Shared = typename Products::Shared;
  static constexpr int items = (shape.heads + 2 * shape.kv_heads) * Pairs::count;
  DIECAST_DEVICE static WeightRow row(const Params& p, int number, int which) {
    const Item item = item_of(number);
    return {item.linear(p), item.row(which == 0 || !item.has_second ? item.first : item.second)};
  }

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared& shared, Requested weights = Requested::no) {
    const auto fill = [&](int t, int row) { fill_from_stream<prologue, threads>(ctx, shared.x, t, row, p.stream, shared.sum); };
    Products::template each_tile<QkvAppend>(ctx, p, shared, weights, row_count(ctx, p.rows), fill, [&](int begin, int count) {
      Products::template each_item<QkvAppend>(ctx, p, shared, count, [&](int number, const auto& sums) {
        const int t = ctx.lane();
        if (t < count) put(ctx, p, item_of(number), begin + t, {of_lane(sums[0], t), of_lane(sums[1], t)});
      });
    });
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
