// What the products of single tokens share (Q/K/V, output, gate and up, down, head): a few token rows come into shared memory, then each warp makes one
// output after another, each from one row of weights or from two whose results belong together, while the rows of its next ones are on their way
// (weight_ring.hpp). An operation `Op` has
//   Products          RowProducts
//   items             static constexpr int: outputs of a token row
//   row               static WeightRow row(const Params&, int item, int which)
#pragma once

#include <cstdint>

#include <diecast/kernels/activations.hpp>
#include <diecast/kernels/context.hpp>
#include <diecast/kernels/multiply_row.hpp>
#include <diecast/kernels/shapes.hpp>
#include <diecast/kernels/weight_ring.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

// Whether the weights that an operation begins with have been asked for: the kernel that runs whole tokens does so before it waits for what they are multiplied by.
enum class Requested { no, yes };

// products: rows of weights for an item.
template <int width, FormSet set, Team team, int products>
struct RowProducts {
  static constexpr int threads = team.threads, warps = threads / warp_lanes;
  using Ring = WeightRing<width, set, threads, products>;
  struct Shared {
    Activations<width, set, team.tokens> x;
    BlockSumShared<threads> sum;
    typename Ring::Shared ring;
  };

  // Asks for the weights that this warp begins with.
  template <class Op, ExecutionContext C>
  DIECAST_DEVICE static void request(C& ctx, const typename Op::Params& p, Shared& shared) {
    const int first = first_item(ctx), end = first + Ring::items_ahead * step(ctx);
    for (int item = first, place = 0; item < end; item += step(ctx)) {
      DIECAST_UNROLL
      for (int which = 0; which < products; ++which) request_row<Op>(ctx, p, shared, place++, item, which);
    }
  }

  // All token rows, as many at once as the team takes: fill(t, row) brings one into place t of shared memory, multiply(begin, count) is for those that are there.
  template <class Op, ExecutionContext C, class Fill, class Multiply>
  DIECAST_DEVICE static void each_tile(C& ctx, const typename Op::Params& p, Shared& shared, Requested weights, int rows, const Fill& fill,
                                       const Multiply& multiply) {
    for (int begin = 0; begin < rows; begin += team.tokens) {
      if (begin > 0 || weights == Requested::no) request<Op>(ctx, p, shared);
      const int count = rows - begin < team.tokens ? rows - begin : team.tokens;
      for (int t = 0; t < count; ++t) fill(t, begin + t);
      ctx.barrier();
      multiply(begin, count);
      ctx.barrier();  // the next rows come into the same place
    }
    Ring::wait_all(ctx);  // without token rows nobody has waited
  }

  // take(item, sums) for every item of this warp, whose first weights have been asked for: sums[which][t], the same in all lanes.
  template <class Op, ExecutionContext C, class Take>
  DIECAST_DEVICE static void each_item(C& ctx, const typename Op::Params& p, Shared& shared, int count, const Take& take) {
    int place = 0, before = Ring::depth - 1;
    for (int item = first_item(ctx); item < Op::items; item += step(ctx)) {
      float sums[products][team.tokens];
      DIECAST_UNROLL
      for (int which = 0; which < products; ++which) {
        Ring::wait(ctx);
        request_row<Op>(ctx, p, shared, before, item + Ring::items_ahead * step(ctx), which);
        multiply_row<Ring>(ctx, Op::row(p, item, which), Ring::at(ctx, shared.ring, place), shared.x, count, sums[which]);
        before = place;
        place = place + 1 < Ring::depth ? place + 1 : 0;
      }
      take(item, sums);
    }
  }

 private:
  template <ExecutionContext C>
  DIECAST_DEVICE static int first_item(C& ctx) {
    return ctx.block() * warps + ctx.warp();
  }
  template <ExecutionContext C>
  DIECAST_DEVICE static int step(C& ctx) {
    return ctx.blocks() * warps;
  }
  template <class Op, ExecutionContext C>
  DIECAST_DEVICE static void request_row(C& ctx, const typename Op::Params& p, Shared& shared, int place, int item, int which) {
    if (item < Op::items) Ring::request(ctx, shared.ring, place, Op::row(p, item, which));
    Ring::commit(ctx);
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
