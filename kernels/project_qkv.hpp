// Norm + Q, K and V + bias, as they are: for models that normalise Q and K before they turn, which needs whole heads (norm_rope_append.hpp
// follows). One row of all three matrices is a warp's work.
#pragma once

#include <cstdint>

#include <diecast/kernels/context.hpp>
#include <diecast/kernels/multiply_row.hpp>
#include <diecast/kernels/shapes.hpp>
#include <diecast/kernels/stream.hpp>
#include <diecast/kernels/token_rows.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

template <Hidden hidden, HeadShape shape, Prologue prologue, FormSet set, Team team>
struct ProjectQkv {
  static_assert(shape.heads > 0 && shape.kv_heads > 0 && shape.head_dim > 0, "heads, kv_heads and head_dim must be positive");
  static constexpr int threads = team.threads;
  static constexpr int q_width = shape.heads * shape.head_dim, kv_width = shape.kv_heads * shape.head_dim, width = q_width + 2 * kv_width;

  struct Params {
    TokenRows rows;
    Stream stream;
    Linear q, k, v;
    float* out;  // [row, heads + 2 kv_heads, head_dim]
  };
  struct Shared {
    Activations<hidden.value, set, team.tokens> x;
    BlockSumShared<threads> sum;
  };

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared& shared) {
    constexpr int warps = threads / warp_lanes;
    const int rows = row_count(ctx, p.rows);
    for (int begin = 0; begin < rows; begin += team.tokens) {
      const int count = rows - begin < team.tokens ? rows - begin : team.tokens;
      for (int t = 0; t < count; ++t) fill_from_stream<prologue, threads>(ctx, shared.x, t, begin + t, p.stream, shared.sum);
      ctx.barrier();
      for (int item = ctx.block() * warps + ctx.warp(); item < width; item += ctx.blocks() * warps) {
        const bool is_q = item < q_width, is_k = !is_q && item < q_width + kv_width;
        float sum[team.tokens];
        multiply_row(ctx, one_of(is_q, is_k, p.q, p.k, p.v),
                     is_q   ? item
                     : is_k ? item - q_width
                            : item - q_width - kv_width,
                     shared.x, count, sum);
        if (ctx.lane() < count) ctx.store(p.out, static_cast<std::int64_t>(begin + ctx.lane()) * width + item, of_lane(sum, ctx.lane()));
      }
      ctx.barrier();  // the next rows come into the same place
    }
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
