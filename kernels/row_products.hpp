// What the products of single tokens share (Q/K/V, output, gate and up, down, head): a few token rows come into shared memory, then each warp makes one
// output after another, each from one row of weights or from two whose results belong together. An operation `Op` has
//   items, products   static constexpr int: outputs of a token row; rows of weights for each
//   row               static WeightRow row(const Params&, int item, int which)
#pragma once

#include <cstdint>

#include <diecast/kernels/activations.hpp>
#include <diecast/kernels/context.hpp>
#include <diecast/kernels/multiply_row.hpp>
#include <diecast/kernels/shapes.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

// A row of one of an operation's matrices.
struct WeightRow {
  Linear linear;
  std::int64_t row;
};

template <int width, FormSet set, Team team>
struct RowProducts {
  static constexpr int threads = team.threads, warps = threads / warp_lanes;
  struct Shared {
    Activations<width, set, team.tokens> x;
    BlockSumShared<threads> sum;
  };

  // Asks for the weights that this warp begins with.
  template <class Op, ExecutionContext C>
  DIECAST_DEVICE static void prefetch(C& ctx, const typename Op::Params& p) {
    const int item = first_item(ctx);
    if (item >= Op::items) return;
    DIECAST_UNROLL
    for (int which = 0; which < Op::products; ++which) {
      const WeightRow of_item = Op::row(p, item, which);
      prefetch_row<width, set>(ctx, of_item.linear, of_item.row);
    }
  }

  // All token rows, as many at once as the team takes: fill(t, row) brings one into place t of shared memory, multiply(begin, count) is for those that are there.
  template <ExecutionContext C, class Fill, class Multiply>
  DIECAST_DEVICE static void each_tile(C& ctx, int rows, const Fill& fill, const Multiply& multiply) {
    for (int begin = 0; begin < rows; begin += team.tokens) {
      const int count = rows - begin < team.tokens ? rows - begin : team.tokens;
      for (int t = 0; t < count; ++t) fill(t, begin + t);
      ctx.barrier();
      multiply(begin, count);
      ctx.barrier();  // the next rows come into the same place
    }
  }

  // take(item, sums) for every item of this warp: sums[which][t], the same in all lanes.
  template <class Op, ExecutionContext C, class Take>
  DIECAST_DEVICE static void each_item(C& ctx, const typename Op::Params& p, const Shared& shared, int count, const Take& take) {
    for (int item = first_item(ctx); item < Op::items; item += ctx.blocks() * warps) {
      float sums[Op::products][team.tokens];
      DIECAST_UNROLL
      for (int which = 0; which < Op::products; ++which) {
        const WeightRow of_item = Op::row(p, item, which);
        multiply_row(ctx, of_item.linear, of_item.row, shared.x, count, sums[which]);
      }
      take(item, sums);
    }
  }

 private:
  template <ExecutionContext C>
  DIECAST_DEVICE static int first_item(C& ctx) {
    return ctx.block() * warps + ctx.warp();
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
