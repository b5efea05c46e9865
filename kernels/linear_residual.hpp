// A branch's last product (attention's output, the MLP's down) + bias, added to the hidden states where it is made; or, where the model
// normalises a branch first, left as it is for the next operation's prologue (stream.hpp). A warp makes one output of a few tokens: it alone
// reads and writes that hidden state, so adding in place needs no order.
#pragma once

#include <cstdint>

#include <diecast/kernels/context.hpp>
#include <diecast/kernels/row_products.hpp>
#include <diecast/kernels/shapes.hpp>
#include <diecast/kernels/token_rows.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

struct Extents {  // of a matrix: [out, in]
  int out;
  int in;
};

enum class Ending { add, leave };

template <Extents extents, Ending ending, FormSet set, Team team>
struct LinearResidual {
  static_assert(extents.out > 0 && extents.in > 0, "a matrix has at least one row and one column");
  static constexpr int threads = team.threads;

  struct Params {
    TokenRows rows;
    Linear linear;
    const float* in;  // [row, extents.in]
    float* out;       // [row, extents.out]: the hidden states, or the branch
    float scale;      // of what is added
  };
  using Products = RowProducts<extents.in, set, team, 1>;
  using Shared = typename Products::Shared;
  static constexpr int items = extents.out;
  DIECAST_DEVICE static WeightRow row(const Params& p, int item, int) { return {p.linear, item}; }

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared& shared, Requested weights = Requested::no) {
    const auto fill = [&](int t, int row) {
      const std::int64_t in = static_cast<std::int64_t>(row) * extents.in;
      fill_row<NormKind::none, threads>(ctx, shared.x, t, Norm{}, shared.sum, [&](int i) { return ctx.load(p.in, in + i); });
    };
    Products::template each_tile<LinearResidual>(ctx, p, shared, weights, row_count(ctx, p.rows), fill, [&](int begin, int count) {
      Products::template each_item<LinearResidual>(ctx, p, shared, count, [&](int item, const auto& sums) {
        if (ctx.lane() >= count) return;
        const std::int64_t at = static_cast<std::int64_t>(begin + ctx.lane()) * extents.out + item;
        const float value = of_lane(sums[0], ctx.lane());
        ctx.store(p.out, at, ending == Ending::add ? ctx.fma(value, p.scale, ctx.load(p.out, at)) : value);
      });
    });
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
