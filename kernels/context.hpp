// What device code is given by whoever runs it: its place in the grid, memory, barriers, and arithmetic with one meaning.
// Kernels touch the machine through a context alone, so the same source runs under CUDA (cuda_context.hpp) and on a host
// executor that watches every access, every barrier and every guard zone. Nothing here is specific to CUDA.
//
// An operation is a class with
//   threads    static constexpr int: threads of a block, whole warps. A constant, because the order of a block's sum depends on it
//   Params     plain data, built on the host
//   Shared     the block's shared memory, of a size that is known at compile time
//   run        template <ExecutionContext C> static void run(C&, const Params&, Shared&), entered by every thread of the block
#pragma once

#include <concepts>
#include <cstdint>

namespace diecast::kernels {

inline constexpr int warp_lanes = 32;

template <class C>
concept ExecutionContext = requires(C ctx, const float* from, float* to, std::int64_t index, float x, int lane_mask) {
  { ctx.block() } -> std::same_as<int>;   // of the grid, one-dimensional
  { ctx.thread() } -> std::same_as<int>;  // of the block
  { ctx.load(from, index) } -> std::same_as<float>;  // from[index], global or shared, of any trivially copyable type
  ctx.store(to, index, x);                           // to[index] = x
  ctx.barrier();                                     // all threads of the block; what was stored before is seen after
  { ctx.shuffle_xor(x, lane_mask) } -> std::same_as<float>;  // x of lane (own ^ lane_mask); all 32 lanes of a warp take part
  { ctx.fma(x, x, x) } -> std::same_as<float>;               // one rounding
  { ctx.sqrt(x) } -> std::same_as<float>;                    // correctly rounded
};

}  // namespace diecast::kernels
