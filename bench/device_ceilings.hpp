// What a GPU can do at best, as two operations over the execution context, so that the host executor tries them, too: reading memory once, as the loops over
// weights do, and meetings of all blocks, as the kernel that runs whole tokens has them.
#pragma once

#include <cstdint>

#include <diecast/kernels/context.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::bench {

using kernels::ExecutionContext;

// Reads `pieces` times 16 bytes, four on their way at once in each thread, and keeps their sum, so that no read can be left out.
template <int block_threads>
struct ReadOnce {
  static constexpr int threads = block_threads;
  static constexpr int at_once = 4;
  using Piece = kernels::Vector<std::uint32_t, 4>;

  struct Params {
    const Piece* from;
    std::int64_t pieces;
    std::uint32_t* sums;  // [block, thread]
  };
  struct Shared {};

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared&) {
    const std::int64_t all = static_cast<std::int64_t>(ctx.blocks()) * threads, own = static_cast<std::int64_t>(ctx.block()) * threads + ctx.thread();
    std::uint32_t sum = 0;
    std::int64_t i = own;
    for (; i + (at_once - 1) * all < p.pieces; i += at_once * all) {
      Piece piece[at_once];
      DIECAST_UNROLL
      for (int k = 0; k < at_once; ++k) piece[k] = ctx.load_once(p.from, i + k * all);
      DIECAST_UNROLL
      for (int k = 0; k < at_once; ++k) sum += total(piece[k]);
    }
    for (; i < p.pieces; i += all) sum += total(ctx.load_once(p.from, i));
    ctx.store(p.sums, own, sum);
  }

 private:
  DIECAST_DEVICE static std::uint32_t total(const Piece& piece) { return piece.at[0] + piece.at[1] + piece.at[2] + piece.at[3]; }
};

// All blocks meet `times` times: each adds 1 to a counter and waits until it has been added to by all.
template <int block_threads>
struct Meetings {
  static constexpr int threads = block_threads;
  static constexpr bool cooperative = true;

  struct Params {
    std::uint32_t* arrived;  // [1] 0 before
    int times;
  };
  struct Shared {};

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared&) {
    for (int meeting = 1; meeting <= p.times; ++meeting) {
      ctx.barrier();
      if (ctx.thread() == 0) {
        ctx.atomic_add(p.arrived, 0, 1u, kernels::Order::release);
        ctx.wait_at_least(p.arrived, 0, static_cast<std::uint32_t>(meeting) * static_cast<std::uint32_t>(ctx.blocks()));
      }
      ctx.barrier();
    }
  }
};

}  // namespace diecast::bench

#include <diecast/kernels/device_end.hpp>
