// Small kernels with one mistake each, in how their threads and blocks meet. Every one must be caught under every schedule, by its kind.
#include <optional>
#include <vector>

#include "faults.hpp"
#include "second_judge.hpp"

using namespace diecast;
using diecast_test::said;
using kernels::ExecutionContext;
using kernels::Order;
using kernels::pending;
using simt::FaultKind;

namespace {

struct Pointers {
  const float* in;      // [256], constant
  float* out;           // [256]
  std::uint32_t* flag;  // [4], zeros
};
struct Nothing {};

struct Operation {
  static constexpr int threads = 64;
  using Params = Pointers;
  using Shared = Nothing;
};
struct Cooperative : Operation {
  static constexpr bool cooperative = true;
};
struct WithTile : Operation {
  struct Shared {
    float tile[64];
    float sums[2];
  };
};

struct MissingBarrier : WithTile {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    ctx.store(shared.tile, ctx.thread(), ctx.load(p.in, ctx.thread()));
    ctx.store(p.out, ctx.thread(), ctx.load(shared.tile, ctx.thread() ^ 1));
  }
};

// Neighbours in a warp run in step on old devices, and do not on those of today.
struct MissingWarpBarrier : WithTile {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    ctx.store(shared.tile, ctx.thread(), ctx.load(p.in, ctx.thread()));
    ctx.shuffle_xor(1.0f, 1);  // brings the lanes together and orders nothing
    ctx.store(p.out, ctx.thread(), ctx.load(shared.tile, ctx.thread() ^ 1));
  }
};

struct WarpBarrierIsTooNarrow : WithTile {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    ctx.store(shared.tile, ctx.thread(), ctx.load(p.in, ctx.thread()));
    ctx.sync_warp();
    ctx.store(p.out, ctx.thread(), ctx.load(shared.tile, ctx.thread() ^ 32));
  }
};

// C4: the second sum is written where slow warps still read the first.
struct ReusedReduction : WithTile {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    float value = ctx.load(p.in, ctx.thread());
    for (int round = 0; round < 2; ++round) {
      const float own = ctx.warp_sum(value);
      if (ctx.lane() == 0) ctx.store(shared.sums, ctx.warp(), own);
      ctx.barrier();
      value = ctx.load(shared.sums, 0) + ctx.load(shared.sums, 1);
    }
    ctx.store(p.out, ctx.thread(), value);
  }
};

// The lanes that read are kept as one access. The one that then stores is among them, and is not whom it races with.
struct StoresAmongReaders : WithTile {
  static constexpr int threads = 32;
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    if (ctx.thread() == 0) ctx.store(shared.tile, 0, ctx.load(p.in, 0));
    ctx.barrier();
    const float value = ctx.shuffle_xor(ctx.load(shared.tile, 0), 1);  // orders nothing
    if (ctx.thread() == 0) ctx.store(shared.tile, 0, value);
    ctx.store(p.out, ctx.thread(), value);
  }
};

struct RefilledTooEarly : WithTile {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    for (int step = 0; step < 3; ++step) {
      ctx.copy_async(shared.tile, ctx.thread(), p.in, 64 * step + ctx.thread());
      ctx.commit_copies();
      ctx.wait_copies(pending<0>);
      ctx.barrier();
      ctx.store(p.out, 64 * step + ctx.thread(), ctx.load(shared.tile, 63 - ctx.thread()));
      // here a barrier is missing
    }
  }
};

// One lane stores a word and loads a byte of it, as does its neighbour. The two loads are kept as one access.
struct LoadsLikeItsNeighbour : WithTile {
  static constexpr int threads = 32;
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    if (ctx.thread() == 2) ctx.store(shared.tile, 0, 0.0f);
    ctx.barrier();
    if (ctx.thread() == 0) ctx.store(shared.tile, 0, 1.0f);
    if (ctx.thread() < 2) ctx.store(p.out, ctx.thread(), ctx.load(reinterpret_cast<const std::int8_t*>(&shared.tile[0]), 0));
  }
};

// The source of a copy gets the value that it has, by the thread that started the copy or by another, before the one who started it has told
// anybody that it has landed.
template <int by>
struct SourceOfACopy : WithTile {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    if (ctx.thread() == 0) {
      ctx.store(p.out, 0, 1.0f);
      ctx.copy_async(shared.tile, 0, p.out, 0);
      ctx.commit_copies();
    }
    ctx.barrier();
    if (ctx.thread() == by) ctx.store(p.out, 0, 1.0f);
    ctx.wait_copies(pending<0>);
  }
};

struct SameOutput : Operation {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    ctx.store(p.out, 0, 1.0f);  // the same value by all: still two stores to one place
  }
};

struct BlocksRace : Operation {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    if (ctx.block() == 0)
      ctx.store(p.out, ctx.thread(), 1.0f);
    else
      ctx.store(p.out, 64 + ctx.thread(), ctx.load(p.in, ctx.thread()));
    if (ctx.block() == 1) ctx.store(p.out, ctx.thread(), 2.0f);
  }
};

struct FlagWithoutRelease : Cooperative {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    if (ctx.block() == 0) {
      if (ctx.thread() == 0) {
        ctx.store(p.out, 0, 1.0f);
        ctx.store_relaxed(p.flag, 0, 1u);
      }
    } else if (ctx.thread() == 0) {
      ctx.wait_at_least(p.flag, 0, 1u);
      ctx.store(p.out, 1, ctx.load(p.out, 0));
    }
  }
};

struct FlagWithoutAcquire : Cooperative {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    if (ctx.thread() != 0) return;
    if (ctx.block() == 0) {
      ctx.store(p.out, 0, 1.0f);
      ctx.store_release(p.flag, 0, 1u);
    } else {
      while (ctx.load_relaxed(p.flag, 0) == 0) {
      }
      ctx.store(p.out, 1, ctx.load(p.out, 0));
    }
  }
};

// The flag has another value than the exchange expects, so nothing is written there, and nothing released.
struct FailedExchange : Cooperative {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    if (ctx.thread() != 0) return;
    if (ctx.block() == 0) {
      ctx.store(p.out, 0, 1.0f);
      ctx.atomic_compare_exchange(p.flag, 0, 7u, 8u, Order::release);
      ctx.store_relaxed(p.flag, 1, 1u);
    } else {
      while (ctx.load_relaxed(p.flag, 1) == 0) {
      }
      ctx.load_acquire(p.flag, 0);
      ctx.store(p.out, 1, ctx.load(p.out, 0));
    }
  }
};

// Thread 0 tells before the others of its block have written.
struct TellsTooEarly : Cooperative {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    if (ctx.block() == 0) {
      ctx.store(p.out, ctx.thread(), 1.0f);
      if (ctx.thread() == 0) ctx.store_release(p.flag, 0, 1u);
    } else {
      if (ctx.thread() == 0) ctx.wait_at_least(p.flag, 0, 1u);
      ctx.barrier();
      ctx.store(p.out, 64 + ctx.thread(), ctx.load(p.out, ctx.thread()));
    }
  }
};

struct PlainStoreToFlag : Cooperative {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    if (ctx.thread() != 0) return;
    if (ctx.block() == 0)
      ctx.store(p.flag, 0, 1u);
    else
      ctx.load_acquire(p.flag, 0);
  }
};

struct MaskLacksOneself : Operation {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    ctx.store(p.out, ctx.thread(), static_cast<float>(ctx.ballot(true, 0x7fffffffu)));
  }
};

struct DifferentMasks : Operation {
  template <ExecutionContext C>
  static void run(C& ctx, const Params&, Shared&) {
    ctx.ballot(true, ctx.lane() < 16 ? 0x0000ffffu : 0xffffffffu);
  }
};

struct SomeLanesStayAway : Operation {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    float value = ctx.load(p.in, ctx.thread());
    if (ctx.thread() < 50) value += ctx.shuffle_down(value, 1);
    ctx.store(p.out, ctx.thread(), value);
  }
};

struct InactiveSource : Operation {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    if (ctx.lane() < 24) ctx.store(p.out, ctx.thread(), ctx.shuffle_down(1.0f, 4, 0x00ffffffu));  // lanes 20-23 read 24-27
  }
};

struct DifferentPlaces : Operation {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    float value = 1;
    if (ctx.lane() % 2 == 0)
      value = ctx.shuffle_xor(value, 2);
    else
      value = ctx.shuffle_xor(value, 4);
    ctx.store(p.out, ctx.thread(), value);
  }
};

struct ProductOfHalfAWarp : Operation {
  template <ExecutionContext C>
  static void run(C& ctx, const Params&, Shared&) {
    if (ctx.lane() < 16)
      ctx.multiply_add(kernels::FragmentA<std::int8_t>{}, kernels::FragmentB<std::int8_t>{}, kernels::FragmentC<std::int32_t>{});
  }
};

struct BarrierInABranch : Operation {
  template <ExecutionContext C>
  static void run(C& ctx, const Params&, Shared&) {
    if (ctx.thread() < 40) ctx.barrier();
  }
};

struct BarrierInBothBranches : Operation {
  template <ExecutionContext C>
  static void run(C& ctx, const Params&, Shared&) {
    if (ctx.thread() % 2 == 0)
      ctx.barrier();
    else
      ctx.barrier();
  }
};

struct EarlyReturn : Operation {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    if (ctx.thread() >= 33) return;
    ctx.store(p.out, ctx.thread(), 1.0f);
    ctx.barrier();
  }
};

// One half of a warp waits for the other, which waits at the block's barrier.
struct BarrierAgainstWarp : Operation {
  template <ExecutionContext C>
  static void run(C& ctx, const Params&, Shared&) {
    if (ctx.lane() < 16) ctx.sync_warp();
    ctx.barrier();
    if (ctx.lane() >= 16) ctx.sync_warp();
  }
};

struct NamedTwice : Operation {
  template <ExecutionContext C>
  static void run(C& ctx, const Params&, Shared&) {
    if (ctx.warp() == 0) {
      ctx.named_arrive(1, 64);
      ctx.named_arrive(1, 64);  // the other warp has not come yet
    } else {
      ctx.barrier();
    }
  }
};

struct NamedForDifferentCounts : Operation {
  static constexpr int threads = 96;
  template <ExecutionContext C>
  static void run(C& ctx, const Params&, Shared&) {
    ctx.named_barrier(2, ctx.warp() == 0 ? 96 : 64);
  }
};

struct NamedForTooMany : Operation {
  template <ExecutionContext C>
  static void run(C& ctx, const Params&, Shared&) {
    if (ctx.warp() == 0) ctx.named_barrier(1, 64);
  }
};

struct NamedArgument : Operation {
  template <ExecutionContext C>
  static void run(C& ctx, const Params&, Shared&) {
    ctx.named_barrier(1, 50);
  }
};

// Each block waits for the next one before it tells the one before.
struct CircularWait : Cooperative {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    if (ctx.thread() != 0) return;
    ctx.wait_at_least(p.flag, (ctx.block() + 1) % ctx.blocks(), 1u);
    ctx.store_release(p.flag, ctx.block(), 1u);
  }
};

struct WaitsForABlockThatMayNotRun : Operation {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    if (ctx.thread() != 0) return;
    ctx.atomic_add(p.flag, 0, 1u, Order::release);
    ctx.wait_at_least(p.flag, 0, static_cast<std::uint32_t>(ctx.blocks()));
  }
};

struct PollsForEver : Cooperative {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    while (ctx.load_acquire(p.flag, 3) == 0) {
    }
  }
};

struct PollsPlainly : Cooperative {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    if (ctx.thread() == 0)
      while (ctx.load(p.flag, ctx.block()) == 0) {
      }
  }
};

// No race, and yet the answer depends on who comes first.
struct FirstComes : Operation {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    const std::uint32_t ticket = ctx.atomic_add(p.flag, 0, 1u);
    ctx.store(p.out, ticket, static_cast<float>(ctx.thread() + 64 * ctx.block()));
  }
};

struct Three {
  simt::Memory memory;
  simt::Buffer<float> in{memory, "in", std::vector<float>(256, 1.0f), true}, out{memory, "out", 256};
  simt::Buffer<std::uint32_t> flag{memory, "flag", std::vector<std::uint32_t>(4, 0)};
  Pointers params() const { return {in.data(), out.data(), flag.data()}; }
};

// Where the kind depends on who comes first, `or_kind` is right, too.
template <class Op>
void expect(FaultKind kind, const std::vector<std::string>& words, int blocks = 1, std::optional<FaultKind> or_kind = {}) {
  std::string first;
  for (const simt::Schedule schedule : {simt::Schedule::forward, simt::Schedule::reverse, simt::Schedule::random, simt::Schedule::laggard})
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      Three three, again;  // flags begin as zeros every time
      const simt::Options options{.schedule = schedule, .seed = seed};
      try {
        const diecast_test::ExpectedReports either_may_be_first;
        simt::launch<Op>(three.memory, blocks, three.params(), options);
        FAIL("schedule " << static_cast<int>(schedule) << ", seed " << seed << ": a wrong kernel passed");
      } catch (const simt::Fault& fault) {
        INFO(fault.what());
        CHECK((fault.kind() == kind || fault.kind() == or_kind));
        diecast_test::check_second_judge<Op>(fault, again.memory, blocks, again.params(), options);
        if (first.empty()) first = fault.what();
      }
    }
  INFO(first);
  for (const std::string& word : words) CHECK_THAT(first, Catch::Contains(word));
}

}  // namespace

TEST_CASE("planted: C4: shared memory without the barrier that orders it") {
  expect<MissingBarrier>(FaultKind::race, {"kernel MissingBarrier, block 0, thread 0:", "shared memory at byte 4", "planted_order.cpp:"}, 1,
                         FaultKind::unwritten);
  expect<MissingWarpBarrier>(FaultKind::race,
                             {"thread 31: loads shared memory at byte 120", "nothing orders this and what thread 30 does"});
  expect<WarpBarrierIsTooNarrow>(FaultKind::race, {"thread 31", "byte 252"}, 1, FaultKind::unwritten);
  expect<ReusedReduction>(FaultKind::race, {"stores to shared memory at byte 256"});
  expect<StoresAmongReaders>(FaultKind::race, {"thread 0: stores to shared memory at byte 0", "nothing orders this and what thread 1 does there"});
  expect<LoadsLikeItsNeighbour>(FaultKind::race, {"thread 1: loads shared memory at byte 0", "thread 0"});
  expect<RefilledTooEarly>(FaultKind::race, {"shared memory"});
}

TEST_CASE("planted: global memory that two threads or two blocks share without order") {
  expect<SourceOfACopy<0>>(FaultKind::race, {"changes out[0]", "its own asynchronous copy"});
  expect<SourceOfACopy<40>>(FaultKind::race, {"out[0]"});
  expect<SameOutput>(FaultKind::race, {"stores to out[0]"});
  expect<BlocksRace>(FaultKind::race, {"out[", "of block 0"}, 2);
  expect<FlagWithoutRelease>(FaultKind::race, {"loads out[0]", "of block 0"}, 2);
  expect<FlagWithoutAcquire>(FaultKind::race, {"loads out[0]"}, 2);
  expect<FailedExchange>(FaultKind::race, {"loads out[0]", "of block 0"}, 2);
  expect<TellsTooEarly>(FaultKind::race, {"loads out[63]", "thread 63 of block 0"}, 2, FaultKind::unwritten);
  expect<PlainStoreToFlag>(FaultKind::race, {"flag[0]"}, 2);
}

TEST_CASE("planted: lanes of a warp that do not meet") {
  expect<MaskLacksOneself>(FaultKind::divergent, {"thread 31", "lacks its own lane 31", "0x7fffffff"});
  expect<DifferentMasks>(FaultKind::divergent, {"thread 16", "0xffffffff", "lane 0 has left"});
  expect<SomeLanesStayAway>(FaultKind::divergent, {"shuffle_down"});
  expect<InactiveSource>(FaultKind::divergent, {"thread 20", "reads lane 24"});
  expect<DifferentPlaces>(FaultKind::divergent, {"at another place"});
  expect<ProductOfHalfAWarp>(FaultKind::divergent, {"multiply_add"});
}

TEST_CASE("planted: a barrier of the block that some threads never reach") {
  expect<BarrierInABranch>(FaultKind::barrier_not_reached, {"never reaches"});
  expect<BarrierInBothBranches>(FaultKind::barrier_not_reached, {"another one"});
  expect<EarlyReturn>(FaultKind::barrier_not_reached, {"has left the kernel"});
  expect<BarrierAgainstWarp>(FaultKind::divergent, {"threads 0-15, 32-47 wait in sync_warp", "16-31, 48-63 wait at the block's barrier"});
}

TEST_CASE("planted: named barriers") {
  expect<NamedTwice>(FaultKind::named_barrier, {"named barrier 1 once more"});
  expect<NamedForDifferentCounts>(FaultKind::named_barrier, {"named barrier"}, 1, FaultKind::deadlock);
  expect<NamedForTooMany>(FaultKind::deadlock, {"threads 0-31 wait at a named barrier", "32-63 have left"});
  expect<NamedArgument>(FaultKind::wrong_argument, {"50 threads"});
}

TEST_CASE("planted: waits that never end") {
  expect<CircularWait>(FaultKind::deadlock, {"nobody can go on", "block 0, threads 0 wait until flag[1] is 1", "(it is 0)"}, 3);
  expect<WaitsForABlockThatMayNotRun>(FaultKind::deadlock, {"cooperative"}, 2);
  expect<PollsForEver>(FaultKind::deadlock, {"poll flag[3] in vain"}, 2);
}

TEST_CASE("planted: a result that depends on the schedule") {
  Three three;
  try {
    simt::agree<FirstComes>(three.memory, 2, three.params());
    FAIL("passed");
  } catch (const simt::Fault& fault) {
    INFO(fault.what());
    CHECK(static_cast<int>(fault.kind()) == static_cast<int>(FaultKind::schedule));
    CHECK_THAT(fault.what(), Catch::Contains("out[0]") && Catch::Contains("forward and reverse"));
  }
}

TEST_CASE("planted: a loop that waits for a plain store", "[slow]") {
  Three three;
  CHECK_THROWS_WITH(simt::launch<PollsPlainly>(three.memory, 2, three.params()), Catch::Contains("does it wait for a plain store?"));
}

TEST_CASE("a buffer of which the schedule may decide") {
  Three three;
  three.out.may_differ();
  CHECK_NOTHROW(simt::agree<FirstComes>(three.memory, 2, three.params()));
}
