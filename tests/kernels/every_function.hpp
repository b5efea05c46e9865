// One operation that calls every function of the context, for nvcc and ptxas to compile and for the host executor to run. Its results
// follow from small whole numbers, so host and device must leave the same words.
#pragma once

#include <cstdint>

#include <diecast/kernels/context.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast_test {

struct EveryFunction {
  static constexpr int threads = 64;
  static constexpr bool cooperative = true;

  struct Params {
    const float* in;       // [64]: 0, 1, 2, ...
    float* out;            // [384]
    std::uint32_t* flags;  // [8], zeros
    std::uint64_t* best;   // [1], zero
    float* sum;            // [1], zero
    std::uint32_t* words;  // [64]
  };
  struct Shared {
    alignas(16) float tile[64];
    alignas(16) diecast::kernels::Half matrix[256];
    alignas(16) std::int8_t bytes[512];
    alignas(16) float bulk[64];
    diecast::kernels::CopyBarrier copies[1];
    diecast::kernels::BlockScratch<64> scratch;
  };

  template <diecast::kernels::ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared& shared) {
    using namespace diecast::kernels;
    const int thread = ctx.thread();
    const bool first = ctx.block() == 0;
    if (first && ctx.blocks() > 0 && ctx.threads() == threads) {
      memory(ctx, p, shared);
      warps(ctx, p);
      matrices(ctx, p, shared);
      if (ctx.warp() == 0)
        ctx.named_arrive(1, 64);
      else
        ctx.named_barrier(1, 64);
    }
    ctx.barrier();
    if (thread == 0) flags(ctx, p);
  }

 private:
  template <class C>
  DIECAST_DEVICE static void memory(C& ctx, const Params& p, Shared& shared) {
    using namespace diecast::kernels;
    const int thread = ctx.thread();
    ctx.prefetch(p.in, 0);
    ctx.copy_async(shared.tile, thread, p.in, thread);
    ctx.commit_copies();
    ctx.wait_copies(pending<0>);
    ctx.barrier();  // the vectors below go where other threads' copies went
    if (thread < 16) ctx.copy_async(as_vectors<4>(&shared.tile[0]), thread, as_vectors<4>(p.in), thread, thread < 15);
    if (thread < 32) ctx.copy_async(as_vectors<2>(reinterpret_cast<float*>(&shared.bytes[0])), thread, as_vectors<2>(p.in), thread);
    ctx.commit_copies();
    ctx.commit_copies();
    ctx.wait_copies(pending<1>);
    ctx.barrier();
    const Vector<float, 4> four = ctx.load_once(as_vectors<4>(p.in), thread % 16);
    const Vector<float, 2> two = ctx.load_once(as_vectors<2>(p.in), thread % 32);
    const float one = ctx.load_once(p.in, thread);
    const Half half = ctx.load_once(reinterpret_cast<const Half*>(p.in), 2 * thread);
    const float constant = ctx.load_constant(p.in, thread) + ctx.load_constant(as_vectors<4>(p.in), thread % 16).at[1];
    ctx.store(p.out, thread, four.at[3] + two.at[1] + one + constant + ctx.load(shared.tile, thread) + ctx.widen(half));
    if (thread == 0) ctx.init_bulk(shared.copies, 0, 2);
    ctx.barrier();
    if (thread % 32 == 0) ctx.copy_bulk(shared.bulk, thread, p.in, thread, 32, shared.copies, 0);
    ctx.wait_bulk(shared.copies, 0, 0);
    const BlockScan scan = ctx.block_scan(static_cast<std::uint64_t>(thread), shared.scratch);
    ctx.store(p.out, 320 + thread, ctx.load(shared.bulk, 63 - thread) + static_cast<float>(scan.before + scan.all));
    if (thread < 32) ctx.store_once(as_vectors<4>(p.out + 64), thread, four);
    if (thread < 32) ctx.store(as_vectors<2>(p.out + 192), thread, two);
  }

  template <class C>
  DIECAST_DEVICE static void warps(C& ctx, const Params& p) {
    using namespace diecast::kernels;
    const int lane = ctx.lane();
    float x = static_cast<float>(lane);
    x += ctx.shuffle(x, 3) + ctx.shuffle_xor(x, 1) + ctx.shuffle_down(x, 2) + ctx.shuffle_up(x, 2);
    const std::uint64_t wide = ctx.shuffle_xor(std::uint64_t{1} << lane, 16);
    x += static_cast<float>(ctx.popcount(ctx.ballot(lane % 2 == 0))) + (ctx.any(lane == 1) ? 1.0f : 0.0f) +
         (ctx.all(lane == 1) ? 1.0f : 0.0f);
    x += ctx.warp_sum(1.0f) + ctx.warp_max(static_cast<float>(lane)) + static_cast<float>(ctx.warp_sum(lane));
    ctx.sync_warp();
    if (lane < 16) {
      ctx.sync_warp(0x0000ffffu);
      x += ctx.shuffle_xor(x, 1, 0x0000ffffu);
    }
    ctx.sync_warp();
    x = ctx.fma(x, 2.0f, 1.0f) + ctx.sqrt(16.0f) + ctx.divide(6.0f, 2.0f) + ctx.exp2(3.0f) + ctx.rsqrt(0.25f) + ctx.tanh(0.0f);
    x += ctx.widen(ctx.narrow(2.0f, Half{})) + ctx.widen(ctx.narrow(3.0f, Bfloat16{})) + ctx.narrow(ctx.widen(1.0f), 0.0f);
    x += static_cast<float>(ctx.round(2.5f) + ctx.dot4(0x01020304, 0x01010101, 5) + ctx.dot4(0xff000001u, 0x01010101, 0) +
                            ctx.lowest_bit(8u));
    ctx.store(p.words, ctx.thread(), ctx.permute_bytes(static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(wide >> 8), 0x5410u));
  }

  template <class C>
  DIECAST_DEVICE static void matrices(C& ctx, const Params& p, Shared& shared) {
    using namespace diecast::kernels;
    for (int i = ctx.thread(); i < 256; i += threads) ctx.store(shared.matrix, i, ctx.narrow(static_cast<float>(i % 16), Half{}));
    for (int i = ctx.thread(); i < 512; i += threads) ctx.store(shared.bytes, i, static_cast<std::int8_t>(i % 32));
    ctx.barrier();
    const int at = ctx.lane() % 16 * 16 + ctx.lane() / 16 * 8;
    const FourMatrices a = ctx.load_matrices(&shared.matrix[0], at);
    const FourMatrices b = ctx.load_matrices_transposed(&shared.matrix[0], at);
    const FourMatrices bytes = ctx.load_matrices(&shared.bytes[0], 16 * ctx.lane());
    FragmentC<float> c{};
    c = ctx.multiply_add(FragmentA<Half>{{a.at[0], a.at[1], a.at[2], a.at[3]}}, FragmentB<Half>{{b.at[0], b.at[1]}}, c);
    c = ctx.multiply_add(FragmentA<Bfloat16>{}, FragmentB<Bfloat16>{}, c);
    const FragmentC<std::int32_t> d = ctx.multiply_add(FragmentA<std::int8_t>{{bytes.at[0], bytes.at[1], bytes.at[2], bytes.at[3]}},
                                                       FragmentB<std::int8_t>{{bytes.at[0], bytes.at[1]}}, FragmentC<std::int32_t>{});
    ctx.store(p.out, 256 + ctx.thread(), c.at[0] + c.at[3] + static_cast<float>(d.at[1]));
  }

  // Thread 0 of every block.
  template <class C>
  DIECAST_DEVICE static void flags(C& ctx, const Params& p) {
    using diecast::kernels::Order;
    const auto blocks = static_cast<std::uint32_t>(ctx.blocks());
    ctx.atomic_add(p.flags, 0, 1u, Order::release);
    ctx.wait_at_least(p.flags, 0, blocks);
    ctx.atomic_add(p.flags, 1, 1u, Order::acquire);
    ctx.atomic_add(p.flags, 1, 1u, Order::acquire_release);
    ctx.atomic_add(p.flags, 1, 1u);
    ctx.atomic_add(p.sum, 0, 1.0f);
    ctx.atomic_max(p.best, 0, std::uint64_t{1} << 40 | static_cast<std::uint64_t>(ctx.block()));
    if (ctx.block() != 0) return;
    ctx.store_relaxed(p.flags, 2, 1u);
    ctx.store_release(p.flags, 3, ctx.load_acquire(p.flags, 2) + ctx.load_relaxed(p.flags, 2));
    ctx.atomic_exchange(p.flags, 4, 1u, Order::relaxed);
    ctx.atomic_exchange(p.flags, 4, 2u, Order::acquire);
    ctx.atomic_exchange(p.flags, 4, 3u, Order::release);
    ctx.atomic_exchange(p.flags, 4, 4u, Order::acquire_release);
    ctx.atomic_compare_exchange(p.flags, 5, 0u, 1u, Order::relaxed);
    ctx.atomic_compare_exchange(p.flags, 5, 1u, 2u, Order::acquire);
    ctx.atomic_compare_exchange(p.flags, 5, 2u, 3u, Order::release);
    ctx.atomic_compare_exchange(p.flags, 5, 7u, 8u, Order::acquire_release);
  }
};

}  // namespace diecast_test

#include <diecast/kernels/device_end.hpp>
