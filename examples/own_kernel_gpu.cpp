// One's own GPU kernel, proven without a GPU. The kernel is a softmax over rows, written over an execution context: under nvcc the same source
// is device code, here it runs on the host executor, which tries several schedules, guards every buffer and finds races. The result is
// held to the reference in double; the distance allowed follows from the operation, not from looking at it:
//
//   y = e / s with e = 2^((x - m) log2(e)), s the sum of the row's e, u = 2^-24
//   x - m errs by u of itself, the product by 2 u more (log2(e) is rounded, too): an absolute error of 3 u log2(e) |x - m| in the exponent, hence
//   a relative one of 3 u |x - m| in e, and exp2 adds 4 u. The sum of n positive terms: n u in any order. The quotient: u.
//   |y - y'| <= (3 |x - m| + 3 w + n + 9) u |y|, where w bounds |x - m| over the row
//
// Beside it stands the same kernel without its second barrier, as it is easily forgotten: on most devices it is right most of the time.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <diecast/diecast.hpp>
#include <diecast/kernels/context.hpp>
#include <diecast/reference.hpp>
#include <diecast/simt/launch.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace {

namespace simt = diecast::simt;
using diecast::kernels::ExecutionContext;

// One block a row. `right` is the only difference between the two kernels.
template <bool right>
struct Softmax {
  static constexpr int threads = 128;
  static constexpr int warps = threads / 32;
  struct Params {
    const float* in;  // [row, width]
    float* out;       // [row, width]
    int width;
  };
  struct Shared {
    float of_warp[warps];
  };

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared& shared) {
    const std::int64_t row = static_cast<std::int64_t>(ctx.block()) * p.width;
    float most = ctx.load(p.in, row);
    for (int i = ctx.thread(); i < p.width; i += threads) {
      const float x = ctx.load(p.in, row + i);
      most = x > most ? x : most;
    }
    most = ctx.warp_max(most);
    if (ctx.lane() == 0) ctx.store(shared.of_warp, ctx.warp(), most);
    ctx.barrier();
    for (int warp = 0; warp < warps; ++warp) {
      const float other = ctx.load(shared.of_warp, warp);
      most = other > most ? other : most;
    }
    if (right) ctx.barrier();  // all have read the greatest values before the sums are written over them

    float sum = 0;
    for (int i = ctx.thread(); i < p.width; i += threads) sum += power(ctx, ctx.load(p.in, row + i) - most);
    sum = ctx.warp_sum(sum);
    if (ctx.lane() == 0) ctx.store(shared.of_warp, ctx.warp(), sum);
    ctx.barrier();
    sum = 0;
    for (int warp = 0; warp < warps; ++warp) sum += ctx.load(shared.of_warp, warp);
    for (int i = ctx.thread(); i < p.width; i += threads) ctx.store(p.out, row + i, ctx.divide(power(ctx, ctx.load(p.in, row + i) - most), sum));
  }

 private:
  template <ExecutionContext C>
  DIECAST_DEVICE static float power(C& ctx, float x) {
    return ctx.exp2(x * 1.44269504f);
  }
};

// The greatest distance from the reference as a part of the bound: above 1 the kernel is wrong.
double worst(int width) {
  const int rows = 3;
  std::mt19937 random(7);
  std::vector<float> in;
  for (int i = 0; i < rows * width; ++i) in.push_back(static_cast<float>(random() >> 8) * 0x1p-20f - 8);

  simt::Memory memory;
  const auto from = simt::constants(memory, "in", in);
  const simt::Buffer<float> out(memory, "out", in.size());
  const simt::Counters counters = simt::agree<Softmax<true>>(memory, rows, {from.data(), out.data(), width}, {.count = true});
  std::cerr << "width " << width << ": " << counters.read().sectors << " sectors read, " << counters.read().efficiency() << " of their bytes asked for, "
            << counters.shared_read.conflicts() << " bank conflicts, " << counters.barriers << " barriers\n";

  const std::vector<float> got = out.values();
  double most = 0;
  for (int row = 0; row < rows; ++row) {
    const auto begin = static_cast<std::size_t>(row * width), end = begin + static_cast<std::size_t>(width);
    std::vector<double> right(in.begin() + static_cast<std::ptrdiff_t>(begin), in.begin() + static_cast<std::ptrdiff_t>(end));
    const double greatest = *std::max_element(right.begin(), right.end()), widest = greatest - *std::min_element(right.begin(), right.end());
    diecast::reference::softmax<double>(std::span(right));
    for (std::size_t i = begin; i < end; ++i) {
      const double expected = right[i - begin];
      const double bound = (3 * (greatest - static_cast<double>(in[i])) + 3 * widest + width + 9) * 0x1p-24 * expected;
      const double distance = std::abs(static_cast<double>(got[i]) - expected) / bound;
      if (!(distance <= most)) most = distance;  // written so that NaN stays
    }
  }
  return most;
}

std::string said_of_the_wrong_one() {
  simt::Memory memory;
  const auto from = simt::constants(memory, "in", std::vector<float>(256, 1.0f));
  const simt::Buffer<float> out(memory, "out", 256);
  try {
    simt::launch<Softmax<false>>(memory, 1, {from.data(), out.data(), 256});
  } catch (const simt::Fault& fault) {
    std::cerr << fault.what() << '\n';
    return fault.kind() == simt::FaultKind::race ? "a race" : "another fault";
  }
  return "nothing";
}

}  // namespace

#include <diecast/kernels/device_end.hpp>

int main() {
  bool holds = true;
  for (const int width : {33, 256, 577}) {
    const double of_bound = worst(width);
    holds = holds && of_bound <= 1;  // NaN fails
    std::cout << "softmax of " << width << ": " << (of_bound <= 1 ? "within the bound under every schedule" : "refused") << '\n';
    std::cerr << "the worst distance is " << of_bound << " of the bound\n";
  }
  const std::string said = said_of_the_wrong_one();
  std::cout << "without the second barrier: " << said << '\n';
  return holds && said == "a race" ? 0 : 1;
}
