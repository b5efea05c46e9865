// Norm + Q, K and V + bias, as they are: for models that normalise Q and K before they turn, which needs whole heads (norm_rope_append.hpp
// follows). One row of all three matrices is a warp's work.
#pragma once

#include <cstdint>

#include <diecast/kernels/context.hpp>
#include <diecast/kernels/row_products.hpp>
#include <diecast/kernels/shapes.hpp>
#include <diecast/kernels/stream.hpp>
#include <diecast/kernels/token_rows.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

template <Hidden hidden, HeadShape shape, Prologue prologue, FormSet set, Team team>
struct ProjectQkv {
  static_assert(Checked<shape>::ok);
  static constexpr int threads = team.threads;
  static constexpr int q_width = shape.heads * shape.head_dim, kv_width = shape.kv_heads * shape.head_dim, width = q_width + 2 * kv_width;

  struct Params {
    TokenRows rows;
    Stream stream;
    Linear q, k, v;
    float* out;  // [row, heads + 2 kv_heads, head_dim]
  };
  using Products = RowProducts<hidden.value, set, team, 1>;
  using Shared = typename Products::Shared;
  static constexpr int items = width;
  DIECAST_DEVICE static WeightRow row(const Params& p, int item, int) {
    const bool is_q = item < q_width, is_k = !is_q && item < q_width + kv_width;
    return {one_of(is_q, is_k, p.q, p.k, p.v), is_q ? item : is_k ? item - q_width : item - q_width - kv_width};
  }

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared& shared, Requested weights = Requested::no) {
    const auto fill = [&](int t, int row) { fill_from_stream<prologue, threads>(ctx, shared.x, t, row, p.stream, shared.sum); };
    Products::template each_tile<ProjectQkv>(ctx, p, shared, weights, row_count(ctx, p.rows), fill, [&](int begin, int count) {
      Products::template each_item<ProjectQkv>(ctx, p, shared, count, [&](int item, const auto& sums) {
        if (ctx.lane() < count)
          ctx.store(p.out, static_cast<std::int64_t>(begin + ctx.lane()) * width + item, of_lane(sums[0], ctx.lane()));
      });
    });
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
