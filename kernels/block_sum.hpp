// The one sum over a block's threads. Its order is fixed by the thread count alone (a butterfly in every warp, then the warps
// in ascending order), so equal inputs give equal bits every time, on any device and schedule.
#pragma once

#include <diecast/kernels/context.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

template <int threads>
struct BlockSumShared {
  static_assert(threads >= warp_lanes && threads % warp_lanes == 0, "a block is made of whole warps");
  static constexpr int warps = threads / warp_lanes;
  float of_warp[warps];
};

// The sum of every thread's value, in every thread. All threads of the block take part.
template <int threads, ExecutionContext C>
DIECAST_DEVICE float block_sum(C& ctx, float value, BlockSumShared<threads>& shared) {
  // Partners add the same two numbers, so all lanes of a warp end with the same bits.
  for (int mask = warp_lanes / 2; mask > 0; mask /= 2) value += ctx.shuffle_xor(value, mask);
  if (ctx.thread() % warp_lanes == 0) ctx.store(shared.of_warp, ctx.thread() / warp_lanes, value);
  ctx.barrier();  // every warp's sum is written before anybody reads
  float sum = 0;
  for (int warp = 0; warp < BlockSumShared<threads>::warps; ++warp) sum += ctx.load(shared.of_warp, warp);
  ctx.barrier();  // everybody has read before the next sum writes into the same place
  return sum;
}

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
