// Kernels that look wrong and are right: the executor must let them pass under every schedule.
#include <catch2/catch.hpp>

#include <vector>

#include <diecast/simt/launch.hpp>

using namespace diecast;
using kernels::ExecutionContext;
using kernels::Half;
using kernels::Order;
using kernels::pending;

namespace {

struct Nothing {};

// Neighbours exchange through shared memory with a warp barrier only: each warp keeps to its own part.
struct WarpOnly {
  static constexpr int threads = 96;
  struct Params {
    float* out;  // [thread]
  };
  struct Shared {
    float tile[threads];
  };
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    for (int step = 1; step < 32; step *= 2) {
      ctx.store(shared.tile, ctx.thread(), static_cast<float>(ctx.thread()));
      ctx.sync_warp();
      ctx.store(p.out, ctx.thread(), ctx.load(shared.tile, ctx.thread() ^ step));
      ctx.sync_warp();
    }
  }
};

// Different halves of one word, written by different threads without a barrier.
struct HalvesOfAWord {
  static constexpr int threads = 64;
  struct Params {
    Half* out;           // [128]
    std::int8_t* bytes;  // [64]
  };
  using Shared = Nothing;
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    ctx.store(p.out, 64 * ctx.block() + ctx.thread(), Half{static_cast<std::uint16_t>(ctx.thread())});
    if (ctx.block() == 0) ctx.store(p.bytes, ctx.thread(), static_cast<std::int8_t>(ctx.thread()));
  }
};

// Both halves of a warp, each with its own mask, at different places.
struct TwoMasks {
  static constexpr int threads = 32;
  struct Params {
    int* out;
  };
  using Shared = Nothing;
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    int value = ctx.lane();
    if (ctx.lane() < 16) {
      value = ctx.shuffle_xor(value, 1, 0x0000ffffu);
      value += 100 * ctx.popcount(ctx.ballot(value % 2 == 0, 0x0000ffffu));
    } else {
      value = ctx.shuffle_down(value, 3, 0xffff0000u);
    }
    ctx.sync_warp();
    ctx.store(p.out, ctx.thread(), value);
  }
};

// The last block to come adds up what all have left: one counter, released and acquired by the same operation, and nobody waits.
struct LastBlock {
  static constexpr int threads = 64;
  struct Params {
    float* parts;            // [block, thread]
    std::uint32_t* counter;  // [1], 0
    float* out;              // [thread]
  };
  struct Shared {
    std::uint32_t came;
  };
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    ctx.store(p.parts, ctx.block() * threads + ctx.thread(), static_cast<float>(ctx.block() + ctx.thread()));
    ctx.barrier();
    if (ctx.thread() == 0) ctx.store(&shared.came, 0, ctx.atomic_add(p.counter, 0, 1u, Order::acquire_release));
    ctx.barrier();
    if (ctx.load(&shared.came, 0) + 1 != static_cast<std::uint32_t>(ctx.blocks())) return;
    float sum = 0;
    for (int block = 0; block < ctx.blocks(); ++block) sum += ctx.load(p.parts, block * threads + ctx.thread());
    ctx.store(p.out, ctx.thread(), sum);
  }
};

// One warp makes, two take; two named barriers, so that neither overtakes the other. The maker does not wait at `full`, nor do the takers
// at `empty`.
struct MakerAndTakers {
  static constexpr int threads = 96;
  static constexpr int empty = 1, full = 2;
  struct Params {
    float* out;  // [step, 64]
    int steps;
  };
  struct Shared {
    float tile[32];
  };
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    if (ctx.warp() == 0) {
      for (int step = 0; step < p.steps; ++step) {
        if (step > 0) ctx.named_barrier(empty, threads);
        ctx.store(shared.tile, ctx.lane(), static_cast<float>(100 * step + ctx.lane()));
        ctx.named_arrive(full, threads);
      }
    } else {
      for (int step = 0; step < p.steps; ++step) {
        ctx.named_barrier(full, threads);
        ctx.store(p.out, 64 * step + ctx.thread() - 32, ctx.load(shared.tile, 31 - ctx.lane()));
        if (step + 1 < p.steps) ctx.named_arrive(empty, threads);
      }
    }
  }
};

// A ring of three stages: a copy is started into a stage that was read one barrier ago.
struct Pipeline {
  static constexpr int threads = 64;
  static constexpr int stages = 3;
  struct Params {
    const float* in;  // [step, 64]
    float* out;
    int steps;
  };
  struct Shared {
    float tile[stages][threads];
  };
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    const auto start = [&](int step) {
      if (step < p.steps) ctx.copy_async(shared.tile[step % stages], ctx.thread(), p.in, 64 * step + ctx.thread());
      ctx.commit_copies();  // an empty group, too, so that the count goes on
    };
    for (int step = 0; step < stages - 1; ++step) start(step);
    for (int step = 0; step < p.steps; ++step) {
      ctx.wait_copies(pending<stages - 2>);
      ctx.barrier();
      start(step + stages - 1);
      ctx.store(p.out, 64 * step + ctx.thread(), ctx.load(shared.tile[step % stages], 63 - ctx.thread()));
    }
    ctx.wait_copies(pending<0>);
  }
};

// A handed on: the middle block changes the flag without any order, and what was released before is still acquired through it.
struct ReleaseSequence {
  static constexpr int threads = 32;
  static constexpr bool cooperative = true;
  struct Params {
    std::uint32_t* flag;  // [1], begins just below 2^32: the count passes through 0
    float* out;           // [2]
  };
  using Shared = Nothing;
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    if (ctx.thread() != 7) return;
    if (ctx.block() == 0) {
      ctx.store(p.out, 0, 5.0f);
      ctx.atomic_add(p.flag, 0, 1u, Order::release);
    } else if (ctx.block() == 1) {
      while (ctx.load_relaxed(p.flag, 0) != 0xffffffffu) {
      }
      ctx.atomic_add(p.flag, 0, 1u);
    } else {
      ctx.wait_at_least(p.flag, 0, 0u);
      ctx.store(p.out, 1, ctx.load(p.out, 0));
    }
  }
};

// A block that waits for what it has said itself, more often than any loop that polls would.
struct WaitsForItself {
  static constexpr int threads = 32;
  static constexpr bool cooperative = true;
  struct Params {
    std::uint32_t* flag;  // [1]
  };
  using Shared = Nothing;
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    if (ctx.thread() != 0) return;
    for (std::uint32_t i = 1; i <= 1000; ++i) {
      ctx.atomic_add(p.flag, 0, 1u, Order::release);
      ctx.wait_at_least(p.flag, 0, i);
    }
  }
};

// Nobody writes: how a word is read does not matter.
struct ReadsBothWays {
  static constexpr int threads = 64;
  struct Params {
    const std::uint32_t* flag;  // [1]
    std::uint32_t* out;         // [64]
  };
  using Shared = Nothing;
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    ctx.store(p.out, ctx.thread(), ctx.thread() % 2 == 0 ? ctx.load(p.flag, 0) : ctx.load_relaxed(p.flag, 0));
  }
};

// Zeros instead of what lies beyond the end: the source of such a copy is not looked at.
struct CopyBeyondTheEnd {
  static constexpr int threads = 32;
  struct Params {
    const float* in;  // [20]
    float* out;       // [32]
  };
  struct Shared {
    float tile[32];
  };
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    ctx.copy_async(shared.tile, ctx.thread(), p.in, ctx.thread(), ctx.thread() < 20);
    ctx.commit_copies();
    ctx.wait_copies(pending<0>);
    ctx.sync_warp();
    ctx.store(p.out, ctx.thread(), ctx.load(shared.tile, 31 - ctx.thread()));
  }
};

}  // namespace

TEST_CASE("right: warps exchange through shared memory with a warp barrier only") {
  simt::Memory memory;
  const simt::Buffer<float> out(memory, "out", 96);
  simt::agree<WarpOnly>(memory, 1, {out.data()});
  for (int i = 0; i < 96; ++i) CHECK(out.values()[static_cast<std::size_t>(i)] == static_cast<float>(i ^ 16));
}

TEST_CASE("right: neighbours write halves and bytes of one word") {
  simt::Memory memory;
  const simt::Buffer<Half> out(memory, "out", 128);
  const simt::Buffer<std::int8_t> bytes(memory, "bytes", 64);
  simt::agree<HalvesOfAWord>(memory, 2, {out.data(), bytes.data()});
  CHECK(out.unwritten() == 0);
  CHECK(bytes.values()[63] == 63);
}

TEST_CASE("right: two halves of a warp at different places with different masks") {
  simt::Memory memory;
  const simt::Buffer<int> out(memory, "out", 32);
  simt::agree<TwoMasks>(memory, 1, {out.data()});
  const std::vector<int> values = out.values();
  for (int lane = 0; lane < 16; ++lane) CHECK(values[static_cast<std::size_t>(lane)] == (lane ^ 1) + 800);
  for (int lane = 16; lane < 32; ++lane) CHECK(values[static_cast<std::size_t>(lane)] == (lane + 3 < 32 ? lane + 3 : lane));
}

TEST_CASE("right: the last block adds up what all have left, though they run one after another") {
  simt::Memory memory;
  const simt::Buffer<float> parts(memory, "parts", 5 * 64), out(memory, "out", 64);
  const auto counter = simt::buffer<std::uint32_t>(memory, "counter", {0});
  simt::agree<LastBlock>(memory, 5, {parts.data(), counter.data(), out.data()});
  for (int i = 0; i < 64; ++i) CHECK(out.values()[static_cast<std::size_t>(i)] == static_cast<float>(10 + 5 * i));
}

TEST_CASE("right: a maker and two takers with named barriers where one side does not wait") {
  simt::Memory memory;
  const int steps = 6;
  const simt::Buffer<float> out(memory, "out", 64 * steps);
  simt::agree<MakerAndTakers>(memory, 1, {out.data(), steps});
  for (int i = 0; i < 64 * steps; ++i) CHECK(out.values()[static_cast<std::size_t>(i)] == static_cast<float>(100 * (i / 64) + 31 - i % 32));
}

TEST_CASE("right: a pipeline of asynchronous copies with one barrier a step") {
  simt::Memory memory;
  const int steps = 7;
  std::vector<float> in;
  for (int i = 0; i < 64 * steps; ++i) in.push_back(static_cast<float>(i));
  const auto from = simt::constants(memory, "in", in);
  const simt::Buffer<float> out(memory, "out", in.size());
  simt::agree<Pipeline>(memory, 1, {from.data(), out.data(), steps});
  for (int i = 0; i < 64 * steps; ++i) CHECK(out.values()[static_cast<std::size_t>(i)] == static_cast<float>(i / 64 * 64 + 63 - i % 64));
}

TEST_CASE("right: what was released before a relaxed addition is acquired through it; the count wraps") {
  simt::Memory memory;
  const auto flag = simt::buffer<std::uint32_t>(memory, "flag", {0xfffffffeu});
  const simt::Buffer<float> out(memory, "out", 2);
  simt::agree<ReleaseSequence>(memory, 3, {flag.data(), out.data()});
  CHECK(out.values() == std::vector<float>{5, 5});
}

TEST_CASE("right: a block waits a thousand times for what it has said itself") {
  simt::Memory memory;
  const auto flag = simt::buffer(memory, "flag", std::vector<std::uint32_t>{0});
  simt::agree<WaitsForItself>(memory, 1, {flag.data()});
  CHECK(flag.values() == std::vector<std::uint32_t>{1000});
}

TEST_CASE("right: a word that nobody writes is read plainly and as a flag") {
  simt::Memory memory;
  const auto flag = simt::buffer(memory, "flag", std::vector<std::uint32_t>{5});
  const simt::Buffer<std::uint32_t> out(memory, "out", 64);
  simt::agree<ReadsBothWays>(memory, 1, {flag.data(), out.data()});
  CHECK(out.values() == std::vector<std::uint32_t>(64, 5));
}

TEST_CASE("right: copies beyond the end give zeros") {
  simt::Memory memory;
  const auto in = simt::constants(memory, "in", std::vector<float>(20, 3.0f));
  const simt::Buffer<float> out(memory, "out", 32);
  simt::agree<CopyBeyondTheEnd>(memory, 1, {in.data(), out.data()});
  for (int i = 0; i < 32; ++i) CHECK(out.values()[static_cast<std::size_t>(i)] == (31 - i < 20 ? 3.0f : 0.0f));
}
