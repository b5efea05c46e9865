// The counters on access patterns whose numbers are known by hand: 32-byte sectors, 32 banks of 4 bytes.
#include <catch2/catch.hpp>

#include <vector>

#include <diecast/simt/launch.hpp>

using namespace diecast;
using kernels::as_vectors;
using kernels::ExecutionContext;
using kernels::Half;
using kernels::pending;

namespace {

struct Nothing {};

// Each lane loads one value of `bytes` bytes, `stride` values from its neighbour's, from a beginning of `first` values.
template <class T>
struct Strided {
  static constexpr int threads = 32;
  struct Params {
    const T* in;
    T* out;
    int stride, first;
  };
  using Shared = Nothing;
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    ctx.store(p.out, ctx.thread(), ctx.load(p.in, p.first + p.stride * ctx.thread()));
  }
};

template <class T>
simt::Counters strided(int stride, int first = 0) {
  simt::Memory memory;
  const simt::Buffer<T> in(memory, "in", std::vector<T>(2048)), out(memory, "out", 32);
  return simt::agree<Strided<T>>(memory, 1, {in.data(), out.data(), stride, first}, {.count = true});
}

// Each lane stores to and loads from shared memory, `stride` values from its neighbour.
template <class T>
struct Banks {
  static constexpr int threads = 32;
  struct Params {
    int stride;
  };
  struct Shared {
    alignas(128) T tile[2048];
  };
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    ctx.store(shared.tile, ctx.thread() * p.stride, T{});
    ctx.load(shared.tile, ctx.thread() * p.stride);
  }
};

template <class T>
simt::SharedTraffic banks(int stride) {
  simt::Memory memory;
  return simt::agree<Banks<T>>(memory, 1, {stride}, {.count = true}).shared_read;
}

struct Everything {
  static constexpr int threads = 64;
  struct Params {
    const float* in;      // [128]
    std::uint32_t* flag;  // [1]
  };
  struct Shared {
    alignas(16) float tile[64];
  };
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    if (ctx.thread() < 16) ctx.copy_async(as_vectors<4>(&shared.tile[0]), ctx.thread(), as_vectors<4>(p.in), ctx.thread());
    ctx.commit_copies();
    ctx.wait_copies(pending<0>);
    ctx.barrier();
    for (int i = 0; i < 3; ++i) ctx.load(p.in, ctx.thread());
    ctx.load(as_vectors<2>(p.in), ctx.thread());
    ctx.sync_warp();
    ctx.warp_sum(ctx.load(&shared.tile[0], ctx.thread()));
    ctx.any(ctx.lane() == 3);
    ctx.named_barrier(1, 64);
    ctx.dot4(1, 2, 3);
    if (ctx.thread() == 0) ctx.atomic_add(p.flag, 0, 1u);
  }
};

}  // namespace

TEST_CASE("counters: neighbours ask for neighbours: every byte of a sector is asked for") {
  const simt::Counters four = strided<float>(1);
  CHECK(four.read().requests == 1);
  CHECK(four.read().sectors == 4);
  CHECK(four.read().bytes == 128);
  CHECK(four.read().efficiency() == 1.0);
  CHECK(four.written().sectors == 4);
  CHECK(four.buffers.at("in").read.sectors == 4);
  CHECK(four.buffers.at("in").written.sectors == 0);
  CHECK(four.loads == std::array<std::uint64_t, 5>{0, 0, 1, 0, 0});
  CHECK(strided<Half>(1).read().sectors == 2);
  CHECK(strided<double>(1).read().sectors == 8);
  const simt::Counters sixteen = strided<kernels::Vector<float, 4>>(1);
  CHECK(sixteen.read().sectors == 16);
  CHECK(sixteen.read().efficiency() == 1.0);
  CHECK(sixteen.loads == std::array<std::uint64_t, 5>{0, 0, 0, 0, 1});
}

TEST_CASE("counters: strides and shifts cost sectors") {
  CHECK(strided<float>(2).read().sectors == 8);
  CHECK(strided<float>(2).read().efficiency() == 0.5);
  CHECK(strided<float>(8).read().sectors == 32);
  CHECK(strided<float>(8).read().efficiency() == 0.125);
  CHECK(strided<float>(33).read().sectors == 32);
  CHECK(strided<float>(1, 1).read().sectors == 5);  // one value past the border of a sector
  CHECK(strided<float>(0).read().sectors == 1);     // one word for all
  CHECK(strided<float>(0).read().bytes == 4);
}

TEST_CASE("counters: bank conflicts") {
  const auto conflicts = [](const simt::SharedTraffic& traffic) { return static_cast<int>(traffic.conflicts()); };
  CHECK(banks<float>(1).wavefronts == 1);
  CHECK(conflicts(banks<float>(1)) == 0);
  CHECK(conflicts(banks<float>(2)) == 1);
  CHECK(conflicts(banks<float>(4)) == 3);
  CHECK(conflicts(banks<float>(32)) == 31);
  CHECK(conflicts(banks<float>(33)) == 0);
  CHECK(conflicts(banks<Half>(1)) == 0);   // two lanes in one word
  CHECK(conflicts(banks<Half>(64)) == 31);
  // 16 bytes a lane: eight lanes at a time, four wavefronts at least.
  CHECK(banks<kernels::Vector<float, 4>>(1).wavefronts == 4);
  CHECK(conflicts(banks<kernels::Vector<float, 4>>(1)) == 0);
  CHECK(conflicts(banks<kernels::Vector<float, 4>>(2)) == 4);
  CHECK(conflicts(banks<kernels::Vector<float, 4>>(8)) == 28);
  CHECK(banks<double>(1).wavefronts == 2);
  CHECK(conflicts(banks<double>(1)) == 0);
  CHECK(conflicts(banks<double>(2)) == 2);
}

TEST_CASE("counters: what a warp does is counted once, whatever the schedule") {
  for (const auto schedule : {simt::Schedule::forward, simt::Schedule::reverse, simt::Schedule::random, simt::Schedule::laggard}) {
    simt::Memory memory;
    const auto in = simt::constants(memory, "in", std::vector<float>(128, 1.0f));
    const auto flag = simt::buffer<std::uint32_t>(memory, "flag", {0});
    const simt::Counters n = simt::launch<Everything>(memory, 1, {in.data(), flag.data()}, {.schedule = schedule, .count = true});
    CHECK(n.barriers == 1);
    CHECK(n.named_barriers == 1);
    CHECK(n.warp_barriers == 2);
    CHECK(n.exchanges == 4);
    CHECK(n.copies == 1);
    CHECK(n.atomics == 1);
    CHECK(n.dots == 64);
    CHECK(n.buffers.at("in").read.requests == 1 + 2 * 3 + 2);
    CHECK(n.buffers.at("in").read.sectors == 8 + 2 * 3 * 4 + 2 * 8);
    CHECK(n.loads == std::array<std::uint64_t, 5>{0, 0, 6, 2, 1});
    CHECK(n.shared_read.requests == 2);
  }
}
