// A branch's last product (attention's output, the MLP's down) + bias, added to the hidden states where it is made; or, where the model
// normalises a branch first, left as it is for the next operation's prologue (stream.hpp). A warp makes one output of a few tokens: it alone
// reads and writes that hidden state, so adding in place needs no order.
#pragma once

#include <cstdint>

#include <diecast/kernels/context.hpp>
#include <diecast/kernels/multiply_row.hpp>
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
  struct Shared {
    Activations<extents.in, set, team.tokens> x;
    BlockSumShared<threads> sum;
  };

  // The weights that this warp begins with.
  template <ExecutionContext C>
  DIECAST_DEVICE static void prefetch(C& ctx, const Params& p) {
    const int item = ctx.block() * (threads / warp_lanes) + ctx.warp();
    if (item < extents.out) prefetch_row<extents.in, set>(ctx, p.linear, item);
  }

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared& shared) {
    constexpr int warps = threads / warp_lanes;
    const int rows = row_count(ctx, p.rows);
    for (int begin = 0; begin < rows; begin += team.tokens) {
      const int count = rows - begin < team.tokens ? rows - begin : team.tokens;
      for (int t = 0; t < count; ++t) {
        const std::int64_t in = static_cast<std::int64_t>(begin + t) * extents.in;
        fill_row<NormKind::none, threads>(ctx, shared.x, t, Norm{}, shared.sum, [&](int i) { return ctx.load(p.in, in + i); });
      }
      ctx.barrier();
      for (int item = ctx.block() * warps + ctx.warp(); item < extents.out; item += ctx.blocks() * warps) {
        float sum[team.tokens];
        multiply_row(ctx, p.linear, item, shared.x, count, sum);
        if (ctx.lane() < count) {
          const std::int64_t at = static_cast<std::int64_t>(begin + ctx.lane()) * extents.out + item;
          const float value = of_lane(sum, ctx.lane());
          ctx.store(p.out, at, ending == Ending::add ? ctx.fma(value, p.scale, ctx.load(p.out, at)) : value);
        }
      }
      ctx.barrier();  // the next rows come into the same place
    }
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
