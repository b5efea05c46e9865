// C4: one shared buffer, 200 sums in a row. Whole numbers, so that every order of summation is exact and any thread that reads
// too early or too late is seen; the executor finds a missing barrier whatever the schedule did.
#include <catch2/catch.hpp>

#include <vector>

#include <diecast/kernels/block_sum.hpp>
#include <diecast/simt/launch.hpp>

using namespace diecast::kernels;

namespace {

constexpr int sums = 200;

template <int block_threads>
struct RepeatedSum {
  static constexpr int threads = block_threads;
  struct Params {
    float* out;  // [block, sum, thread]
  };
  struct Shared {
    BlockSumShared<threads> sum;
  };
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    for (int i = 0; i < sums; ++i) {
      const float sum = block_sum<threads>(ctx, static_cast<float>(ctx.thread() + i), shared.sum);
      ctx.store(p.out, (ctx.block() * sums + i) * threads + ctx.thread(), sum);
    }
  }
};

template <int threads>
int wrong_sums() {
  diecast::simt::Memory memory;
  const diecast::simt::Buffer<float> buffer(memory, "out", static_cast<std::size_t>(2 * sums * threads));
  diecast::simt::agree<RepeatedSum<threads>>(memory, 2, {buffer.data()});
  const std::vector<float> out = buffer.values();
  int wrong = 0;
  for (int block = 0; block < 2; ++block)
    for (int i = 0; i < sums; ++i)
      for (int thread = 0; thread < threads; ++thread)
        wrong += !(out[static_cast<std::size_t>((block * sums + i) * threads + thread)] == static_cast<float>(threads * (threads - 1) / 2 + threads * i));
  return wrong;
}

}  // namespace

TEST_CASE("C4: 200 sums through one shared buffer are exact in every thread") {
  CHECK(wrong_sums<32>() == 0);
  CHECK(wrong_sums<64>() == 0);
  CHECK(wrong_sums<96>() == 0);
}
