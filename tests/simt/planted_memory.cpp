// Small kernels with one mistake each, in what they do to memory. Every one must be caught under every schedule, by its kind and by name.
#include <vector>

#include "faults.hpp"
#include "second_judge.hpp"

using namespace diecast;
using diecast_test::said;
using kernels::as_vectors;
using kernels::ExecutionContext;
using kernels::Half;
using kernels::pending;
using kernels::Vector;
using simt::FaultKind;

namespace {

struct Pointers {
  const float* in;
  float* out;
  int size;
};
struct Nothing {};

template <int block_threads = 64>
struct Operation {
  static constexpr int threads = block_threads;
  using Params = Pointers;
  using Shared = Nothing;
};

// Two buffers side by side, `in` constant.
struct Two {
  simt::Memory memory;
  simt::Buffer<float> in, out;
  explicit Two(std::size_t size) : in(memory, "in", std::vector<float>(size, 1.0f), true), out(memory, "out", size) {}
  Pointers params() const { return {in.data(), out.data(), static_cast<int>(in.size())}; }
};

struct OffByOne : Operation<> {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    for (int i = ctx.thread(); i <= p.size; i += threads) ctx.store(p.out, i, ctx.load(p.in, i));
  }
};

struct BeforeTheStart : Operation<> {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    ctx.store(p.out + ctx.thread(), -1, 0.0f);
  }
};

struct IntoTheNeighbour : Operation<> {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    const std::int64_t away = (reinterpret_cast<std::intptr_t>(p.out) - reinterpret_cast<std::intptr_t>(p.in)) / 4;
    if (ctx.thread() == 3) ctx.load(p.in, away);  // inside a buffer, but not this one
  }
};

struct MisalignedVector : Operation<> {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    ctx.load(as_vectors<4>(p.in + 2), ctx.thread());
  }
};

struct VectorPastTheEnd : Operation<> {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    if (ctx.thread() == 0) ctx.load(as_vectors<4>(p.in), p.size / 4);  // the last, incomplete vector
  }
};

struct AddsToUnwritten : Operation<> {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    ctx.store(p.out, ctx.thread(), ctx.load(p.out, ctx.thread()) + ctx.load(p.in, ctx.thread()));
  }
};

struct UnwrittenShared : Operation<> {
  struct Shared {
    float of_warp[32];
  };
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    if (ctx.lane() == 0) ctx.store(shared.of_warp, ctx.warp(), 1.0f);
    ctx.barrier();
    if (ctx.thread() < 32) ctx.store(p.out, ctx.thread(), ctx.load(shared.of_warp, ctx.thread()));  // two warps wrote, 32 entries are read
  }
};

// A head of 72 values in a tile of 128: the tail of the tile belongs to nobody.
struct HeadTail : Operation<> {
  struct Shared {
    float q[128];
  };
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    for (int i = ctx.thread(); i < 72; i += threads) ctx.store(shared.q, i, ctx.load(p.in, i));
    ctx.barrier();
    float dot = 0;
    for (int i = ctx.lane(); i < 128; i += 32) dot += ctx.load(shared.q, i) * ctx.load(shared.q, i);
    ctx.store(p.out, ctx.thread(), ctx.warp_sum(dot));
  }
};

struct PastTheArray : Operation<> {
  struct Shared {
    float first[64];
    float second[64];
  };
  template <ExecutionContext C>
  static void run(C& ctx, const Params&, Shared& shared) {
    ctx.store(shared.first, ctx.thread() + 1, 0.0f);  // its last lies in `second`, which is shared memory, too
  }
};

struct StoreToConstants : Operation<> {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    ctx.store(const_cast<float*>(p.in), ctx.thread(), 0.0f);
  }
};

struct ConstantAndNot : Operation<> {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    ctx.store(p.out, ctx.thread(), 1.0f);
    ctx.load_constant(p.out, ctx.thread());
  }
};

// Bytes, so that a product beyond 2^31 needs no more than 2 GiB of addresses.
struct NarrowOffset {
  static constexpr int threads = 32;
  struct Params {
    const std::int8_t* table;  // [row, 65536]
    int* out;
  };
  using Shared = Nothing;
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    const auto row = static_cast<unsigned>(ctx.thread() + 32752);  // the table has 32784 rows: some begin beyond 2^31
    const int offset = static_cast<int>(row * 65536u);             // what an int product gives on the device
    ctx.store(p.out, ctx.thread(), static_cast<int>(ctx.load(p.table, offset)));
  }
};
struct WideOffset : NarrowOffset {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    ctx.store(p.out, ctx.thread(), static_cast<int>(ctx.load(p.table, std::int64_t{65536} * (ctx.thread() + 32752))));
  }
};

struct Tile : Operation<> {
  struct Shared {
    float tile[2][64];
  };
};

struct MissingWait : Tile {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    ctx.copy_async(shared.tile[0], ctx.thread(), p.in, ctx.thread());
    ctx.commit_copies();
    ctx.barrier();
    ctx.store(p.out, ctx.thread(), ctx.load(shared.tile[0], ctx.thread()));
  }
};

struct WaitsForTheWrongGroup : Tile {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    for (int stage = 0; stage < 2; ++stage) {
      ctx.copy_async(shared.tile[stage], ctx.thread(), p.in, ctx.thread());
      ctx.commit_copies();
    }
    ctx.wait_copies(pending<1>);
    ctx.barrier();
    ctx.store(p.out, ctx.thread(), ctx.load(shared.tile[1], ctx.thread()));  // the first stage has landed, the second need not
    ctx.wait_copies(pending<0>);
  }
};

struct MissingCommit : Tile {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    ctx.copy_async(shared.tile[0], ctx.thread(), p.in, ctx.thread());
    ctx.wait_copies(pending<0>);
    ctx.store(p.out, ctx.thread(), ctx.load(shared.tile[0], ctx.thread()));
  }
};

struct EndsBeforeTheCopy : Tile {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    ctx.copy_async(shared.tile[0], ctx.thread(), p.in, ctx.thread());
    ctx.commit_copies();
  }
};

struct WaitsButTellsNobody : Tile {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    ctx.copy_async(shared.tile[0], ctx.thread(), p.in, ctx.thread());
    ctx.commit_copies();
    ctx.barrier();  // before the wait: what the neighbour copied may still be on its way
    ctx.wait_copies(pending<0>);
    ctx.store(p.out, ctx.thread(), ctx.load(shared.tile[0], (ctx.thread() + 1) % threads));
  }
};

struct DereferencesGlobal : Operation<> {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    ctx.store(p.out, ctx.thread(), p.in[ctx.thread()]);
  }
};

struct DereferencesShared : Tile {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    shared.tile[1][ctx.thread()] = ctx.load(p.in, ctx.thread());
  }
};

struct LocalArray : Operation<> {
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    const float own[4] = {1, 2, 3, 4};
    ctx.store(p.out, ctx.thread(), ctx.load(own, ctx.thread() % 4));
  }
};

struct EndlessRecursion : Operation<> {
  // Not to be made a loop: the frame's address is used after the call.
  static int deeper(volatile int* above, int depth) {
    volatile int here[256];
    here[0] = depth + above[0];
    return depth < 0 ? 0 : deeper(here, depth + 1) + here[0];
  }
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    volatile int start = 0;
    ctx.store(p.out, ctx.thread(), static_cast<float>(deeper(&start, 1)));
  }
};

template <class Op>
void expect(FaultKind kind, const std::vector<std::string>& words, std::size_t size = 128) {
  Two two(size);
  const diecast_test::Said what = said<Op>(two.memory, 1, two.params());
  INFO(what.sentence);
  CHECK(static_cast<int>(what.kind) == static_cast<int>(kind));
  for (const std::string& word : words) CHECK_THAT(what.sentence, Catch::Contains(word));
}

}  // namespace

TEST_CASE("planted: an access outside of its buffer") {
  expect<OffByOne>(FaultKind::out_of_bounds, {"kernel OffByOne, block 0, thread 0:", "in[128]", "has 128 elements", "planted_memory.cpp:"});
  expect<BeforeTheStart>(FaultKind::out_of_bounds, {"out[-1]", "negative"});
  expect<IntoTheNeighbour>(FaultKind::out_of_bounds, {"thread 3", "at in["});
  expect<VectorPastTheEnd>(FaultKind::out_of_bounds, {"16 bytes at in[124]"}, 126);
  expect<PastTheArray>(FaultKind::out_of_bounds, {"thread 63", "element 64 of an array of 64"});
  expect<LocalArray>(FaultKind::out_of_bounds, {"does not point into any buffer"});
}

TEST_CASE("planted: a vector at an address that is no multiple of its size") {
  expect<MisalignedVector>(FaultKind::misaligned, {"16 bytes at in[2]", "8 more than a multiple of 16"}, 512);
}

TEST_CASE("planted: C6: reads of what nobody wrote, a head of 72 in a tile of 128 among them") {
  expect<AddsToUnwritten>(FaultKind::unwritten, {"out["});
  expect<UnwrittenShared>(FaultKind::unwritten, {"shared memory at byte 8"});
  expect<HeadTail>(FaultKind::unwritten, {"shared memory at byte"});
}

TEST_CASE("planted: stores to what is constant") {
  expect<StoreToConstants>(FaultKind::read_only, {"in[", "constant"});
  expect<ConstantAndNot>(FaultKind::read_only, {"out[", "load_constant"});
}

TEST_CASE("planted: an offset that does not fit 32 bits") {
  simt::Memory memory;
  const std::size_t rows = 32784;
  const simt::Buffer<std::int8_t> table(memory, "table", rows * 65536, true);
  for (std::size_t row = rows - 32; row < rows; ++row) memory.upload(table.data() + row * 65536, "x", 1);
  const simt::Buffer<int> out(memory, "out", 32);
  const auto what = said<NarrowOffset>(memory, 1, {table.data(), out.data()});
  CHECK(static_cast<int>(what.kind) == static_cast<int>(FaultKind::out_of_bounds));
  CHECK_THAT(what.sentence, Catch::Contains("thread 16") && Catch::Contains("did a 32-bit product overflow?"));
  simt::agree<WideOffset>(memory, 1, {table.data(), out.data()});
  CHECK(out.values() == std::vector<int>(32, 'x'));
}

TEST_CASE("planted: asynchronous copies that nobody waits for, or too late") {
  expect<MissingWait>(FaultKind::in_flight, {"a wait is missing"});
  expect<WaitsForTheWrongGroup>(FaultKind::in_flight, {"a wait is missing"});
  expect<MissingCommit>(FaultKind::in_flight, {"a wait is missing"});
  expect<EndsBeforeTheCopy>(FaultKind::copy_not_awaited, {"asynchronous copies"});
}

TEST_CASE("planted: an asynchronous copy that others read before they were told") {
  Two two(128), again(128);
  // Which of the two is said depends on who comes first.
  for (const auto schedule : {simt::Schedule::forward, simt::Schedule::reverse, simt::Schedule::random, simt::Schedule::laggard}) {
    const simt::Options options{.schedule = schedule};
    try {
      simt::launch<WaitsButTellsNobody>(two.memory, 1, two.params(), options);
      FAIL("passed");
    } catch (const simt::Fault& fault) {
      CHECK((fault.kind() == FaultKind::in_flight || fault.kind() == FaultKind::race));
      diecast_test::check_second_judge<WaitsButTellsNobody>(fault, again.memory, 1, again.params(), options);
    }
  }
}

TEST_CASE("planted: an access that goes past the context") {
  expect<DereferencesGlobal>(FaultKind::raw_dereference, {"kernel DereferencesGlobal", "dereferences in[", "goes through the context"});
  expect<DereferencesShared>(FaultKind::raw_dereference, {"dereferences shared memory at byte"});
}

TEST_CASE("planted: a kernel that needs more stack than it has") {
  expect<EndlessRecursion>(FaultKind::wrong_argument, {"needs more stack"});
}
