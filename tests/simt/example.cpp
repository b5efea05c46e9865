// The executor on kernels that are right: sums of blocks, warps that exchange, blocks that wait for each other. Whole numbers, so that
// every order of summation gives the same.
#include <catch2/catch.hpp>

#include <numeric>
#include <vector>

#include <diecast/kernels/block_sum.hpp>
#include <diecast/simt/launch.hpp>

using namespace diecast;
using kernels::ExecutionContext;

namespace {

// out[block] = sum of the block's row.
template <int block_threads>
struct RowSum {
  static constexpr int threads = block_threads;
  struct Params {
    const float* in;  // [block, width]
    float* out;       // [block]
    int width;
  };
  struct Shared {
    kernels::BlockSumShared<threads> sum;
  };
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    float own = 0;
    for (int i = ctx.thread(); i < p.width; i += threads) own += ctx.load(p.in, static_cast<std::int64_t>(ctx.block()) * p.width + i);
    const float sum = kernels::block_sum<threads>(ctx, own, shared.sum);
    if (ctx.thread() == 0) ctx.store(p.out, ctx.block(), sum);
  }
};

// Every block adds its number to a counter; the last one to come tells the sum. `rounds` of a grid barrier made of the same counter.
struct Rounds {
  static constexpr int threads = 64;
  static constexpr bool cooperative = true;
  struct Params {
    std::uint32_t* arrived;  // [1], 0 at first
    std::uint32_t* values;   // [2, block]
    std::uint32_t* out;      // [block]
    int rounds;
  };
  struct Shared {};
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    const int blocks = ctx.blocks();
    std::uint32_t sum = 0;
    for (int round = 0; round < p.rounds; ++round) {
      if (ctx.thread() == 5) ctx.store(p.values, round % 2 * blocks + ctx.block(), static_cast<std::uint32_t>(round + ctx.block()));
      ctx.barrier();
      if (ctx.thread() == 0) {
        ctx.atomic_add(p.arrived, 0, 1u, kernels::Order::release);
        ctx.wait_at_least(p.arrived, 0, static_cast<std::uint32_t>((round + 1) * blocks));
      }
      ctx.barrier();
      if (ctx.thread() == 63)
        for (int block = 0; block < blocks; ++block) sum += ctx.load(p.values, round % 2 * blocks + block);
    }
    if (ctx.thread() == 63) ctx.store(p.out, ctx.block(), sum);
  }
};

}  // namespace

TEMPLATE_TEST_CASE_SIG("a block's sum is exact under every schedule", "", ((int threads), threads), 32, 64, 96, 256) {
  simt::Memory memory;
  for (const int width : {1, 31, 33, 577}) {
    std::vector<float> in(static_cast<std::size_t>(3 * width));
    std::iota(in.begin(), in.end(), 1.0f);
    const auto from = simt::constants(memory, "in", in);
    const simt::Buffer<float> out(memory, "out", 3);
    simt::agree<RowSum<threads>>(memory, 3, {from.data(), out.data(), width});
    for (std::size_t row = 0; row < 3; ++row) {
      const auto begin = in.begin() + static_cast<std::ptrdiff_t>(row) * width;
      CHECK(out.values()[row] == std::accumulate(begin, begin + width, 0.0f));
    }
  }
}

TEST_CASE("blocks that wait for each other run together") {
  simt::Memory memory;
  for (const int blocks : {1, 2, 5}) {
    const auto arrived = simt::buffer<std::uint32_t>(memory, "arrived", {0});
    const simt::Buffer<std::uint32_t> values(memory, "values", static_cast<std::size_t>(2 * blocks)),
        out(memory, "out", static_cast<std::size_t>(blocks));
    simt::agree<Rounds>(memory, blocks, {arrived.data(), values.data(), out.data(), 7});
    for (const std::uint32_t sum : out.values()) CHECK(sum == static_cast<std::uint32_t>(21 * blocks + 7 * blocks * (blocks - 1) / 2));
  }
}
