// RMSNorm of Q and K, RoPE, and append to the cache, for models that normalise heads (Qwen 3, Gemma 3: each head; OLMo 2: all heads together).
// A warp takes one head of one token. Where all heads share a norm, each warp adds up all of their squares itself, in one order, rather than wait.
#pragma once

#include <cstdint>

#include <diecast/kernels/context.hpp>
#include <diecast/kernels/heads.hpp>
#include <diecast/kernels/paged_cache.hpp>
#include <diecast/kernels/rotate.hpp>
#include <diecast/kernels/shapes.hpp>
#include <diecast/kernels/token_rows.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

enum class HeadNorm { each_head, all_heads };

template <HeadShape shape, RotaryDim rotary, HeadNorm kind, class CacheElement, Team team>
struct NormRopeAppend {
  static_assert(Checked<shape, rotary>::ok);
  static constexpr int threads = team.threads;

  struct Params {
    TokenRows rows;
    const float* in;      // [row, heads + 2 kv_heads, head_dim]
    const float* q_norm;  // [head_dim] or [heads, head_dim]
    const float* k_norm;  // [head_dim] or [kv_heads, head_dim]
    float epsilon;
    Angles angles;
    PagedTable table;
    Cache<CacheElement> cache;
    float* out;  // [row, heads, head_dim] queries
  };
  struct Shared {};

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared&) {
    constexpr int warps = threads / warp_lanes, heads = shape.heads + 2 * shape.kv_heads;
    const int items = row_count(ctx, p.rows) * heads;
    for (int item = ctx.block() * warps + ctx.warp(); item < items; item += ctx.blocks() * warps)
      one_head(ctx, p, item / heads, item % heads);
  }

 private:
  using Pairs = HeadPairs<shape.head_dim, rotary.value>;
  using Layout = CacheLayout<shape.kv_heads, shape.head_dim, CacheElement>;

  template <ExecutionContext C>
  DIECAST_DEVICE static void one_head(C& ctx, const Params& p, int row, int all_heads) {
    const OfHead of = of_head<shape>(all_heads);
    const bool is_q = of.is_q, is_k = of.is_k;
    const int first_head = is_q ? 0 : shape.heads;  // of those that share the norm
    const std::int64_t of_row = static_cast<std::int64_t>(row) * (shape.heads + 2 * shape.kv_heads) * shape.head_dim;
    const std::int64_t in = of_row + static_cast<std::int64_t>(all_heads) * shape.head_dim;
    float scale = 1;
    if (is_q || is_k) {
      const std::int64_t from = kind == HeadNorm::each_head ? in : of_row + static_cast<std::int64_t>(first_head) * shape.head_dim;
      const int width = shape.head_dim * (kind == HeadNorm::each_head ? 1 : is_q ? shape.heads : shape.kv_heads);
      float squares = 0;
      for (int i = ctx.lane(); i < width; i += warp_lanes) {
        const float x = ctx.load(p.in, from + i);
        squares = ctx.fma(x, x, squares);
      }
      scale = ctx.divide(1.0f, ctx.sqrt(ctx.divide(ctx.warp_sum(squares), static_cast<float>(width)) + p.epsilon));
    }
    const float* norm = is_q ? p.q_norm : p.k_norm;
    const std::int64_t of_norm = kind == HeadNorm::each_head ? 0 : static_cast<std::int64_t>(of.head) * shape.head_dim;
    const auto value = [&](int i) {
      const float x = ctx.load(p.in, in + i) * scale;
      return is_q || is_k ? x * ctx.load_constant(norm, of_norm + i) : x;
    };
    const int position = ctx.load(p.rows.positions, row);
    const std::int64_t q_at = (static_cast<std::int64_t>(row) * shape.heads + of.head) * shape.head_dim;
    const std::int64_t slot = is_q ? 0 : Layout::offset(p.table.slot(ctx, ctx.load(p.rows.sequences, row), position), of.head);
    const auto put = [&](int i, float x) {
      if (is_q)
        ctx.store(p.out, q_at + i, x);
      else
        ctx.store(is_k ? p.cache.keys : p.cache.values, slot + i, ctx.narrow(x, CacheElement{}));
    };
    for (int pair = ctx.lane(); pair < Pairs::count; pair += warp_lanes) {
      const int first = Pairs::first(pair), second = Pairs::second(pair);
      Turned values{value(first), second < shape.head_dim ? value(second) : 0.0f};
      if (Pairs::turns(pair) && (is_q || is_k))
        values = turn(ctx, p.angles, static_cast<std::int64_t>(position) * Pairs::turning + pair, values.first, values.second);
      put(first, values.first);
      if (second < shape.head_dim) put(second, values.second);
    }
    if (!is_q)
      for (int i = shape.head_dim + ctx.lane(); i < Layout::stride; i += warp_lanes) put(i, 0.0f);
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
