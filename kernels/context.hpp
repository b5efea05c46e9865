// What device code is given by whoever runs it: its place in the grid, memory, barriers, exchange between lanes, tensor-core products
// and arithmetic with one meaning. Kernels touch the machine through a context alone, so the same source runs under CUDA
// (cuda_context.hpp) and on a host executor (diecast/simt) that watches every access, every barrier and every guard zone.
//
// An operation is a class with
//   threads      static constexpr int: threads of a block, whole warps. A constant, because the order of a block's sum depends on it
//   cooperative  optional static constexpr bool: true if blocks wait for each other, so that all of them must run at once
//   Params       plain data, built on the host
//   Shared       the block's shared memory, trivial, of a size that is known at compile time; above 48 KiB the launch asks for it
//   run          template <ExecutionContext C> static void run(C&, const Params&, Shared&), entered by every thread of the block
//
// A pointer in Params, and an array in Shared, is an address and nothing else: it goes into load, store and their kin, it may be moved
// (p.q + row * stride) and read as vectors (vector.hpp); it is never dereferenced by the kernel. Indices are 64-bit and count values of T.
// A lane moves 1, 2, 4, 8 or 16 bytes, at an address that is a multiple of that.
#pragma once

#include <concepts>
#include <cstdint>

#include <diecast/kernels/elements.hpp>
#include <diecast/kernels/fragments.hpp>
#include <diecast/kernels/vector.hpp>

namespace diecast::kernels {

inline constexpr int warp_lanes = 32;
inline constexpr std::uint32_t all_lanes = 0xffffffffu;

// What an atomic operation orders, for the whole device: an acquire sees all that was done before the release whose value it reads.
enum class Order { relaxed, acquire, release, acquire_release };

// ctx.wait_copies(pending<1>): on return at most one committed group of this thread's asynchronous copies has not landed.
template <int groups>
struct Pending {};
template <int groups>
inline constexpr Pending<groups> pending{};

template <class C>
concept HasPlace = requires(const C ctx) {
  { ctx.block() } -> std::same_as<int>;    // of the grid, one-dimensional
  { ctx.blocks() } -> std::same_as<int>;   // of the grid
  { ctx.thread() } -> std::same_as<int>;   // of the block
  { ctx.threads() } -> std::same_as<int>;  // of a block
  { ctx.lane() } -> std::same_as<int>;     // of the warp: thread % 32
  { ctx.warp() } -> std::same_as<int>;     // of the block: thread / 32
};

// Global or shared memory, values of any trivially copyable type of 1, 2, 4, 8 or 16 bytes.
template <class C>
concept HasMemory = requires(C ctx, const float* from, float* to, const Vector<Half, 8>* wide, std::int64_t index, float x) {
  { ctx.load(from, index) } -> std::same_as<float>;            // from[index]
  { ctx.load(wide, index) } -> std::same_as<Vector<Half, 8>>;  // the same, 16 bytes
  ctx.store(to, index, x);                                     // to[index] = x
  { ctx.load_constant(from, index) } -> std::same_as<float>;   // global memory that nobody writes during the launch, read by many
  { ctx.load_once(wide, index) } -> std::same_as<Vector<Half, 8>>;  // the same, read once by the whole grid (weights): not kept in caches
  ctx.store_once(to, index, x);                                // not read soon: kept out of the caches
  ctx.prefetch(from, index);                                   // asks for the 128 bytes around from[index]; changes nothing
};

// Asynchronous copies from global into shared memory (cp.async), 4, 8 or 16 bytes each. They land when wait_copies says so and not before;
// other threads see them after a barrier that follows the wait. Every thread waits for its own before it ends.
template <class C>
concept HasCopies = requires(C ctx, const float* from, float* to, std::int64_t index) {
  ctx.copy_async(to, index, from, index);          // to[index] = from[index]
  ctx.copy_async(to, index, from, index, true);    // false: zeros; `from` is not read
  ctx.commit_copies();                             // what was started since the last commit is a group
  ctx.wait_copies(pending<0>);
};

// Bulk copies from global into shared memory (cp.async.bulk): one thread asks for many bytes, whole pieces of 16 at addresses that are multiples of 16. They
// arrive at a barrier of their own in shared memory (mbarrier), which counts phases: a phase is over when as many copies as the barrier was made for have landed.
// A copy of the next phase may be started when somebody has waited for the last one.
struct CopyBarrier {
  std::uint64_t word;
};
template <class C>
concept HasBulkCopies = requires(C ctx, const float* from, float* to, std::int64_t index, int count, CopyBarrier* barrier, std::uint32_t phase) {
  ctx.init_bulk(barrier, index, count);  // by one thread: `count` copies a phase; others may use it after a barrier of the block
  ctx.copy_bulk(to, index, from, index, count, barrier, index);  // by one thread: `count` values
  ctx.wait_bulk(barrier, index, phase);  // by all who read what has landed; phases count from 0: the present one, or the one before
};

template <class C>
concept HasBarriers = requires(C ctx, std::uint32_t lanes, int id, int threads) {
  ctx.barrier();                      // all threads of the block; what was stored before is seen after
  ctx.named_barrier(id, threads);     // `threads` of the block, whole warps; 1 <= id < 16 (0 is the block's own)
  ctx.named_arrive(id, threads);      // takes part without waiting: what was stored before is seen by those who wait
  ctx.sync_warp();                    // the lanes of the warp; what was stored before is seen after
  ctx.sync_warp(lanes);
};

// Flags and counters in global memory, 32 bits wide (64: atomic_max). What one block tells another goes through these.
template <class C>
concept HasAtomics = requires(C ctx, const std::uint32_t* flag, std::uint32_t* to, std::uint64_t* wide, std::int64_t index, std::uint32_t x,
                              std::uint64_t y, float* sum, float z) {
  { ctx.load_acquire(flag, index) } -> std::same_as<std::uint32_t>;
  { ctx.load_relaxed(flag, index) } -> std::same_as<std::uint32_t>;
  ctx.store_release(to, index, x);
  ctx.store_relaxed(to, index, x);
  { ctx.atomic_add(to, index, x, Order::acquire_release) } -> std::same_as<std::uint32_t>;  // gives the value before
  { ctx.atomic_add(sum, index, z) } -> std::same_as<float>;       // relaxed; the order of sums is not fixed: not for results
  { ctx.atomic_max(wide, index, y) } -> std::same_as<std::uint64_t>;  // relaxed
  { ctx.atomic_exchange(to, index, x, Order::relaxed) } -> std::same_as<std::uint32_t>;
  { ctx.atomic_compare_exchange(to, index, x, x, Order::relaxed) } -> std::same_as<std::uint32_t>;  // expected, wanted
  // Until flag[index] has reached x, counted modulo 2^32 (a counter may wrap); acquires. Only where all blocks run at once.
  ctx.wait_at_least(flag, index, x);
};

// Between lanes of a warp. All lanes named by `lanes` (default: all 32) take part, at the same place, and a lane reads only from one that
// does. None of these orders memory: that is sync_warp's.
template <class C>
concept HasWarps = requires(C ctx, float x, int other, bool yes, std::uint32_t lanes) {
  { ctx.shuffle(x, other, lanes) } -> std::same_as<float>;       // x of lane `other`; x has 4 or 8 bytes
  { ctx.shuffle_xor(x, other, lanes) } -> std::same_as<float>;   // x of lane (own ^ other)
  { ctx.shuffle_down(x, other, lanes) } -> std::same_as<float>;  // x of lane own + other; own x where there is none
  { ctx.shuffle_up(x, other, lanes) } -> std::same_as<float>;    // x of lane own - other; own x where there is none
  { ctx.shuffle_xor(x, other) } -> std::same_as<float>;
  { ctx.ballot(yes, lanes) } -> std::same_as<std::uint32_t>;     // bit i: lane i's answer
  { ctx.any(yes, lanes) } -> std::same_as<bool>;
  { ctx.all(yes, lanes) } -> std::same_as<bool>;
  // All 32 lanes, the same bits in each: a butterfly over lane ^ 16, 8, 4, 2, 1, in this order.
  { ctx.warp_sum(x) } -> std::same_as<float>;
  { ctx.warp_max(x) } -> std::same_as<float>;  // a NaN is passed over, as by fmax
  { ctx.warp_sum(other) } -> std::same_as<int>;
};

// Tensor cores. All 32 lanes take part; where each element lies: fragments.hpp. Sums of floats are taken in an order that the
// hardware does not tell: a product of k terms lies within the bound k * 2^-23 * sum |a b|, on both.
template <class C>
concept HasMatrices = requires(C ctx, const Half* row, std::int64_t index, FragmentA<Half> ha, FragmentB<Half> hb, FragmentA<Bfloat16> ba,
                               FragmentB<Bfloat16> bb, FragmentC<float> c, FragmentA<std::int8_t> ia, FragmentB<std::int8_t> ib,
                               FragmentC<std::int32_t> ic) {
  { ctx.load_matrices(row, index) } -> std::same_as<FourMatrices>;             // ldmatrix: 8 elements at row[index], shared memory
  { ctx.load_matrices_transposed(row, index) } -> std::same_as<FourMatrices>;
  { ctx.multiply_add(ha, hb, c) } -> std::same_as<FragmentC<float>>;           // A B + C, m16n8k16
  { ctx.multiply_add(ba, bb, c) } -> std::same_as<FragmentC<float>>;
  { ctx.multiply_add(ia, ib, ic) } -> std::same_as<FragmentC<std::int32_t>>;   // m16n8k32, exact modulo 2^32
};

// Over a block, of whole numbers, so that no order matters: CUB on a device. All threads of the block take part, at the same place. The scratch lies in shared
// memory, and is free again on return.
template <int threads>
struct BlockScratch {
  alignas(16) std::uint64_t words[2 * (threads / warp_lanes) + 4];
};
struct BlockScan {
  std::uint64_t before;  // the sum of what the threads below gave
  std::uint64_t all;
};
template <class C>
concept HasBlocks = requires(C ctx, std::uint64_t x, BlockScratch<64>& scratch) {
  { ctx.block_scan(x, scratch) } -> std::same_as<BlockScan>;
};

template <class C>
concept HasArithmetic = requires(C ctx, float x, std::int32_t i, std::uint32_t u, Half h, Bfloat16 b) {
  { ctx.fma(x, x, x) } -> std::same_as<float>;        // one rounding
  { ctx.sqrt(x) } -> std::same_as<float>;             // correctly rounded
  { ctx.divide(x, x) } -> std::same_as<float>;        // correctly rounded
  { ctx.exp2(x) } -> std::same_as<float>;             // relative error at most 2^-22; results below 2^-126 may be 0
  { ctx.rsqrt(x) } -> std::same_as<float>;            // relative error at most 2^-22
  { ctx.tanh(x) } -> std::same_as<float>;             // relative error at most 2^-22
  { ctx.widen(h) } -> std::same_as<float>;            // exact
  { ctx.widen(b) } -> std::same_as<float>;
  { ctx.narrow(x, h) } -> std::same_as<Half>;         // to the second argument's type: nearest, ties to even
  { ctx.narrow(x, b) } -> std::same_as<Bfloat16>;
  { ctx.round(x) } -> std::same_as<std::int32_t>;     // to the nearest integer, ties to even; |x| < 2^31
  { ctx.dot4(i, i, i) } -> std::same_as<std::int32_t>;  // four signed bytes times four signed bytes, added to the third
  { ctx.dot4(u, i, i) } -> std::same_as<std::int32_t>;  // four unsigned bytes times four signed bytes
  { ctx.popcount(u) } -> std::same_as<int>;
  { ctx.lowest_bit(u) } -> std::same_as<int>;         // index of the lowest set bit; 32 where there is none
  { ctx.permute_bytes(u, u, u) } -> std::same_as<std::uint32_t>;  // prmt: byte i is byte (selector >> 4 i) & 7 of the second, first
};

template <class C>
concept ExecutionContext =
    HasPlace<C> && HasMemory<C> && HasCopies<C> && HasBulkCopies<C> && HasBarriers<C> && HasAtomics<C> && HasWarps<C> && HasBlocks<C> &&
    HasMatrices<C> && HasArithmetic<C>;

}  // namespace diecast::kernels
