// What the context computes, against values worked out by hand or by the definition.
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include <diecast/simt/launch.hpp>

#include <kernels/every_function.hpp>

using namespace diecast;
using kernels::Bfloat16;
using kernels::ExecutionContext;
using kernels::Half;

namespace {

struct Nothing {};

// out[thread] = f(ctx), for one warp.
template <class T, class F>
struct Each {
  static constexpr int threads = 32;
  struct Params {
    T* out;
    F f;
  };
  using Shared = Nothing;
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    ctx.store(p.out, ctx.thread(), p.f(ctx));
  }
};
template <class T, class F>
std::vector<T> each(F f) {
  simt::Memory memory;
  const simt::Buffer<T> out(memory, "out", 32);
  simt::agree<Each<T, F>>(memory, 1, {out.data(), f});
  return out.values();
}
template <class T, class F>
T one(F f) {
  return each<T>(f)[0];
}

}  // namespace

TEST_CASE("primitives: shuffles") {
  const auto plain = each<int>([](auto& ctx) { return ctx.shuffle(10 * ctx.lane(), 31 - ctx.lane()); });
  const auto with = each<float>([](auto& ctx) { return ctx.shuffle_xor(static_cast<float>(ctx.lane()), 5); });
  const auto down = each<std::uint64_t>([](auto& ctx) { return ctx.shuffle_down(std::uint64_t{1} << ctx.lane(), 3); });
  const auto up = each<int>([](auto& ctx) { return ctx.shuffle_up(ctx.lane(), 30); });
  for (std::size_t lane = 0; lane < 32; ++lane) {
    CHECK(plain[lane] == 10 * (31 - static_cast<int>(lane)));
    CHECK(with[lane] == static_cast<float>(lane ^ 5u));
    CHECK(down[lane] == std::uint64_t{1} << (lane + 3 < 32 ? lane + 3 : lane));
    CHECK(up[lane] == static_cast<int>(lane >= 30 ? lane - 30 : lane));
  }
}

TEST_CASE("primitives: votes and sums") {
  CHECK(one<std::uint32_t>([](auto& ctx) { return ctx.ballot(ctx.lane() % 3 == 0); }) == 0x49249249u);
  CHECK(one<int>([](auto& ctx) { return ctx.any(ctx.lane() == 31) ? 1 : 0; }) == 1);
  CHECK(one<int>([](auto& ctx) { return ctx.any(false) ? 1 : 0; }) == 0);
  CHECK(one<int>([](auto& ctx) { return ctx.all(ctx.lane() < 31) ? 1 : 0; }) == 0);
  CHECK(one<int>([](auto& ctx) { return ctx.all(true) ? 1 : 0; }) == 1);
  CHECK(each<int>([](auto& ctx) { return ctx.warp_sum(ctx.lane() * ctx.lane()); }) == std::vector<int>(32, 10416));
  CHECK(each<float>([](auto& ctx) { return ctx.warp_max(static_cast<float>((ctx.lane() * 7) % 32) - 40.0f); }) ==
        std::vector<float>(32, -9.0f));
  CHECK(one<float>([](auto& ctx) { return ctx.warp_max(ctx.lane() == 4 ? std::numeric_limits<float>::quiet_NaN() : -1.0f); }) == -1.0f);
  // The butterfly's order: 2^24 and thirty-one ones; only sums of several ones survive beside 2^24.
  const float butterfly = one<float>([](auto& ctx) { return ctx.warp_sum(ctx.lane() == 0 ? 0x1p24f : 1.0f); });
  float expected[32];
  for (int lane = 0; lane < 32; ++lane) expected[lane] = lane == 0 ? 0x1p24f : 1.0f;
  for (int half = 16; half > 0; half /= 2)
    for (int lane = 0; lane < half; ++lane) expected[lane] += expected[lane + half];
  CHECK(butterfly == expected[0]);
}

TEST_CASE("primitives: products of four bytes") {
  // (1, -2, 127, -128) . (5, 6, -7, -128) + 1000 = 5 - 12 - 889 + 16384 + 1000
  CHECK(one<std::int32_t>([](auto& ctx) {
          return ctx.dot4(static_cast<std::int32_t>(0x807ffe01u), static_cast<std::int32_t>(0x80f90605u), 1000);
        }) == 16488);
  // unsigned: (1, 254, 127, 128) . (5, 6, -7, -128) = 5 + 1524 - 889 - 16384
  CHECK(one<std::int32_t>([](auto& ctx) { return ctx.dot4(std::uint32_t{0x807ffe01u}, static_cast<std::int32_t>(0x80f90605u), 0); }) ==
        -15744);
  CHECK(one<std::uint32_t>([](auto& ctx) { return ctx.permute_bytes(0x33221100u, 0x77665544u, 0x7210u); }) == 0x77221100u);
  CHECK(one<std::uint32_t>([](auto& ctx) { return ctx.permute_bytes(0x33221100u, 0x77665544u, 0x0426u); }) == 0x00442266u);
  CHECK(one<int>([](auto& ctx) { return ctx.popcount(0xf0f00001u); }) == 9);
  CHECK(one<int>([](auto& ctx) { return ctx.lowest_bit(0x00000400u); }) == 10);
  CHECK(one<int>([](auto& ctx) { return ctx.lowest_bit(0u); }) == 32);
}

TEST_CASE("primitives: arithmetic") {
  CHECK(one<float>([](auto& ctx) { return ctx.fma(0x1.000002p0f, 0x1.000002p0f, -1.0f); }) == 0x1.000001p-22f);  // one rounding keeps 2^-46
  CHECK(one<float>([](auto& ctx) { return ctx.sqrt(2.0f); }) == 0x1.6a09e6p0f);
  CHECK(one<float>([](auto& ctx) { return ctx.divide(1.0f, 3.0f); }) == 0x1.555556p-2f);
  CHECK(one<float>([](auto& ctx) { return ctx.exp2(-3.0f); }) == 0.125f);
  CHECK(one<float>([](auto& ctx) { return ctx.exp2(-200.0f); }) == 0.0f);
  CHECK(one<float>([](auto& ctx) { return ctx.exp2(-std::numeric_limits<float>::infinity()); }) == 0.0f);
  CHECK(one<float>([](auto& ctx) { return ctx.rsqrt(16.0f); }) == 0.25f);
  CHECK(std::abs(one<float>([](auto& ctx) { return ctx.tanh(0.5f); }) - 0.46211715726f) <= 0x1p-23f);
  CHECK(one<std::int32_t>([](auto& ctx) { return ctx.round(2.5f); }) == 2);
  CHECK(one<std::int32_t>([](auto& ctx) { return ctx.round(-3.5f); }) == -4);
  CHECK(one<float>([](auto& ctx) { return ctx.widen(Half{0x3c01}); }) == 1.0f + 0x1p-10f);
  CHECK(one<float>([](auto& ctx) { return ctx.widen(Bfloat16{0xc040}); }) == -3.0f);
  CHECK(one<Half>([](auto& ctx) { return ctx.narrow(65520.0f, Half{}); }).bits == 0x7c00);
  CHECK(one<Bfloat16>([](auto& ctx) { return ctx.narrow(1.0f + 0x1p-8f, Bfloat16{}); }).bits == 0x3f80);
}

namespace {

struct Atomics {
  static constexpr int threads = 64;
  struct Params {
    std::uint32_t* words;  // [4]: 0, 0, 7, 0
    float* sum;            // [1]: 0
    std::uint64_t* best;   // [1]: 0
  };
  using Shared = Nothing;
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    ctx.atomic_add(p.words, 0, 2u);
    ctx.atomic_add(p.sum, 0, 0.5f);
    ctx.atomic_max(p.best, 0, static_cast<std::uint64_t>(ctx.thread() * 37 % 64) << 40 | static_cast<std::uint64_t>(ctx.thread()));
    if (ctx.thread() == 9) ctx.atomic_exchange(p.words, 1, 5u);
    if (ctx.thread() == 10) ctx.atomic_compare_exchange(p.words, 2, 7u, 8u);
    if (ctx.thread() == 11) ctx.atomic_compare_exchange(p.words, 3, 1u, 8u);
  }
};

}  // namespace

TEST_CASE("primitives: atomic updates") {
  simt::Memory memory;
  const auto words = simt::buffer<std::uint32_t>(memory, "words", {0, 0, 7, 0});
  const auto sum = simt::buffer<float>(memory, "sum", {0});
  const auto best = simt::buffer<std::uint64_t>(memory, "best", {0});
  simt::agree<Atomics>(memory, 3, {words.data(), sum.data(), best.data()});
  CHECK(words.values() == std::vector<std::uint32_t>{384, 5, 8, 0});
  CHECK(sum.values()[0] == 96.0f);
  CHECK(best.values()[0] == (std::uint64_t{63} << 40 | 19));  // 19 * 37 = 703 = 63 modulo 64
}

TEST_CASE("memory: uploads, downloads and releases stay within one buffer") {
  simt::Memory memory(std::size_t{1} << 20);
  void* first = memory.allocate(100, "first");
  char bytes[200] = {};
  CHECK_NOTHROW(memory.upload(first, bytes, 100));
  CHECK_THROWS_WITH(memory.upload(first, bytes, 101), Catch::Contains("first has 100"));
  CHECK_THROWS_AS(memory.download(bytes, static_cast<char*>(first) + 1, 100), Error);
  CHECK_THROWS_AS(memory.upload(bytes, bytes, 1), Error);
  CHECK_THROWS_AS(memory.release(static_cast<char*>(first) + 1), Error);
  CHECK_THROWS_WITH(memory.allocate(std::size_t{1} << 20, "large"), Catch::Contains("no room left for the buffer large"));
  memory.release(first);
  void* again = memory.allocate(50, "again");
  CHECK(again == first);                     // the addresses are used again,
  CHECK(memory.unwritten(again, 50) == 50);  // and what lay there is forgotten
  memory.download(bytes, again, 50);
  CHECK(static_cast<unsigned char>(bytes[49]) == 0xff);
}

TEST_CASE("primitives: the operation that calls every function runs, and leaves what follows from it") {
  simt::Memory memory;
  std::vector<float> in;
  for (int i = 0; i < 64; ++i) in.push_back(static_cast<float>(i));
  const auto from = simt::constants(memory, "in", in);
  const simt::Buffer<float> out(memory, "out", 384);
  const simt::Buffer<std::uint32_t> words(memory, "words", 64);
  const auto flags = simt::buffer<std::uint32_t>(memory, "flags", std::vector<std::uint32_t>(8, 0));
  const auto best = simt::buffer<std::uint64_t>(memory, "best", {0});
  const auto sum = simt::buffer<float>(memory, "sum", {0});
  simt::agree<diecast_test::EveryFunction>(memory, 3, {from.data(), out.data(), flags.data(), best.data(), sum.data(), words.data()});
  CHECK(flags.values() == std::vector<std::uint32_t>{3, 9, 1, 2, 4, 3, 0, 0});
  CHECK(sum.values()[0] == 3.0f);
  CHECK(best.values()[0] == (std::uint64_t{1} << 40 | 2));
  CHECK(out.values()[320] == 63.0f + 0.0f + 2016.0f);   // what a bulk copy brought, the sum of the threads below, of all
  CHECK(out.values()[383] == 0.0f + 1953.0f + 2016.0f);
  CHECK(out.unwritten() == 0);
}
