// Bulk copies: a right kernel that looks suspicious passes under every schedule, and each way to use them wrongly is caught.
#include <catch2/catch.hpp>

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "second_judge.hpp"

using namespace diecast;
using kernels::CopyBarrier;
using kernels::ExecutionContext;
using simt::FaultKind;

namespace {

struct Operation {
  static constexpr int threads = 64;
  struct Params {
    float* in;   // [step, 64]
    float* out;  // [step, 64]
    int steps;
  };
  struct Shared {
    alignas(16) float tile[2][64];
    CopyBarrier copies[2];
  };
};

// Two stages; each phase of a stage has two copies, of two threads. A stage is asked for anew one barrier after everybody has read it.
template <bool waits, bool told, bool meets, int copies, int phase_off>
struct Ring : Operation {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    const int thread = ctx.thread();
    if (thread == 0)
      for (int stage = 0; stage < 2; ++stage) ctx.init_bulk(shared.copies, stage, copies);
    if (told) ctx.barrier();
    const auto start = [&](int step) {
      if (step < p.steps && thread % 32 == 0)
        ctx.copy_bulk(shared.tile[step % 2], thread, p.in, 64 * step + thread, 32, shared.copies, step % 2);
    };
    start(0);
    ctx.barrier();
    for (int step = 0; step < p.steps; ++step) {
      start(step + 1);
      if (waits) ctx.wait_bulk(shared.copies, step % 2, static_cast<std::uint32_t>(step / 2 + phase_off));
      ctx.store(p.out, 64 * step + thread, ctx.load(shared.tile[step % 2], 63 - thread));
      if (meets) ctx.barrier();
    }
  }
};
using Right = Ring<true, true, true, 2, 0>;
using NeverWaits = Ring<false, true, true, 2, 0>;
using TellsNobodyOfTheBarrier = Ring<true, false, true, 2, 0>;
using AsksBeforeAllHaveRead = Ring<true, true, false, 2, 0>;
using OneCopyTooFew = Ring<true, true, true, 3, 0>;
using WaitsForThePhaseBefore = Ring<true, true, true, 2, 1>;

// Thread 0 asks for `count` values from in[from] on; `copies` of them a phase.
template <int count, int from, int times, bool changes, bool made, bool ends>
struct Once : Operation {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    if (made && ctx.thread() == 0) ctx.init_bulk(shared.copies, 0, 1);
    ctx.barrier();
    if (ctx.thread() == 0)
      for (int i = 0; i < times; ++i) ctx.copy_bulk(shared.tile[i], 0, p.in, from, count, shared.copies, 0);
    if (changes && ctx.thread() == 0) ctx.store(p.in, from, 2.0f);
    ctx.barrier();
    if (!ends) ctx.wait_bulk(shared.copies, 0, 0);
    ctx.store(p.out, ctx.thread(), 1.0f);
  }
};

// Whoever comes late to a phase that is over learns nothing of what was done before the next phase's copies were asked for.
struct LateWaiter : Operation {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    const int thread = ctx.thread();
    if (thread == 0) ctx.init_bulk(shared.copies, 0, 1);
    if (thread == 1) ctx.store(shared.tile[1], 0, 1.0f);
    ctx.barrier();
    if (thread == 0) ctx.copy_bulk(shared.tile[0], 0, p.in, 0, 32, shared.copies, 0);
    if (thread == 1 || thread == 32) ctx.wait_bulk(shared.copies, 0, 0);
    if (thread == 1) ctx.store(p.out, 0, ctx.load(shared.tile[1], 0));
    if (thread == 32) {
      ctx.store(shared.tile[1], 0, 2.0f);
      ctx.copy_bulk(shared.tile[0], 32, p.in, 32, 32, shared.copies, 0);
    }
    ctx.barrier();
    ctx.wait_bulk(shared.copies, 0, 1);
  }
};

// The barrier of the block says that the copy was asked for, and not that it has landed, whoever else has waited for it.
template <bool stores_to_source>
struct OneWarpWaits : Operation {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    if (ctx.thread() == 0) ctx.init_bulk(shared.copies, 0, 1);
    ctx.barrier();
    if (ctx.thread() == 0) ctx.copy_bulk(shared.tile[0], 0, p.in, 0, 64, shared.copies, 0);
    ctx.barrier();
    if (ctx.warp() == 0) ctx.wait_bulk(shared.copies, 0, 0);
    if (!stores_to_source)
      ctx.store(p.out, ctx.thread(), ctx.load(shared.tile[0], ctx.thread()));
    else if (ctx.thread() == 63)
      ctx.store(p.in, 0, 0.0f);  // the value that it has
  }
};

struct There {
  simt::Memory memory;
  simt::Buffer<float> in, out;
  There() : in(memory, "in", numbers()), out(memory, "out", 320) {}
  static std::vector<float> numbers() {
    std::vector<float> all;
    for (int i = 0; i < 320; ++i) all.push_back(static_cast<float>(i));
    return all;
  }
  Operation::Params params() const { return {in.data(), out.data(), 5}; }
};

// Whether every schedule finds a fault, of one of these kinds: which one comes first may depend on who moves first.
template <class Op>
bool caught(std::initializer_list<FaultKind> kinds) {
  using simt::Schedule;
  for (const Schedule schedule : {Schedule::forward, Schedule::reverse, Schedule::random, Schedule::laggard})
    for (const std::uint64_t seed : {1u, 2u}) {
      There there, again;
      const simt::Options options{.schedule = schedule, .seed = seed};
      try {
        const diecast_test::ExpectedReports either_may_be_first;
        simt::launch<Op>(there.memory, 1, there.params(), options);
        return false;
      } catch (const simt::Fault& fault) {
        diecast_test::check_second_judge<Op>(fault, again.memory, 1, again.params(), options);
        if (std::find(kinds.begin(), kinds.end(), fault.kind()) == kinds.end()) {
          UNSCOPED_INFO("schedule " << static_cast<int>(schedule) << ", seed " << seed << ": " << fault.what());
          return false;
        }
      }
    }
  return true;
}

}  // namespace

TEST_CASE("bulk copies: a ring of two stages passes under every schedule, and brings what it should") {
  There there;
  simt::agree<Right>(there.memory, 1, there.params());
  const std::vector<float> out = there.out.values();
  int wrong = 0;
  for (int i = 0; i < 320; ++i) wrong += !(out[static_cast<std::size_t>(i)] == static_cast<float>(i / 64 * 64 + 63 - i % 64));
  CHECK(wrong == 0);
}

TEST_CASE("bulk copies: they are counted, and what they move") {
  There there;
  simt::Options options;
  options.count = true;
  const simt::Counters counters = simt::launch<Right>(there.memory, 1, there.params(), options);
  CHECK(counters.bulk_copies == 10);
  CHECK(counters.buffers.at("in").read.bytes == 1280);
  CHECK(counters.buffers.at("in").read.efficiency() == 1.0);
}

TEST_CASE("planted: bulk copies that nobody waits for, or that a reader takes for landed") {
  CHECK(caught<NeverWaits>({FaultKind::in_flight}));
  CHECK(caught<WaitsForThePhaseBefore>({FaultKind::in_flight}));
  CHECK(caught<Once<64, 0, 1, false, true, true>>({FaultKind::copy_not_awaited}));
  CHECK(caught<OneCopyTooFew>({FaultKind::deadlock}));
}

TEST_CASE("planted: bulk copies out of order with what other threads do") {
  CHECK(caught<TellsNobodyOfTheBarrier>({FaultKind::race, FaultKind::unwritten}));
  CHECK(caught<AsksBeforeAllHaveRead>({FaultKind::race, FaultKind::in_flight}));
  CHECK(caught<LateWaiter>({FaultKind::race}));
  CHECK(caught<OneWarpWaits<false>>({FaultKind::race, FaultKind::in_flight}));
  CHECK(caught<OneWarpWaits<true>>({FaultKind::race}));
  CHECK(caught<Once<64, 0, 1, true, true, false>>({FaultKind::race}));        // the source changes under way
  CHECK(caught<Once<64, 0, 2, false, true, false>>({FaultKind::in_flight}));  // the next phase begins before the last was waited for
}

TEST_CASE("planted: bulk copies with arguments that the device does not take") {
  CHECK(caught<Once<3, 0, 1, false, true, false>>({FaultKind::wrong_argument}));
  CHECK(caught<Once<4, 1, 1, false, true, false>>({FaultKind::misaligned}));
  CHECK(caught<Once<64, 300, 1, false, true, false>>({FaultKind::out_of_bounds}));
  CHECK(caught<Once<64, 0, 1, false, false, false>>({FaultKind::unwritten}));  // no barrier was made
}
