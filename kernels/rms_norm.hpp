// RMSNorm (Zhang and Sennrich 2019): out = x / sqrt(mean(x^2) + epsilon) * weight. One block a row; the row stays in registers
// between the two passes, which is why its width is a template argument. Weights are the factor itself (1 + w is folded at load).
#pragma once

#include <cstdint>

#include <diecast/kernels/block_sum.hpp>
#include <diecast/kernels/context.hpp>
#include <diecast/kernels/shapes.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

template <Hidden hidden>
struct RmsNorm {
  static_assert(hidden.value > 0, "hidden must be positive");
  static constexpr int threads = block_threads(hidden.value);

  struct Params {
    const float* in;      // [row, hidden]
    const float* weight;  // [hidden]
    float* out;           // [row, hidden]; may be `in`
    float epsilon;
  };
  struct Shared {
    BlockSumShared<threads> sum;
  };

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared& shared) {
    constexpr int per_thread = (hidden.value + threads - 1) / threads;
    const std::int64_t row = static_cast<std::int64_t>(ctx.block()) * hidden.value;
    float x[per_thread];
    float squares = 0;
    for (int k = 0; k < per_thread; ++k) {
      const int i = ctx.thread() + k * threads;
      x[k] = i < hidden.value ? ctx.load(p.in, row + i) : 0.0f;
      squares = ctx.fma(x[k], x[k], squares);
    }
    const float mean = block_sum<threads>(ctx, squares, shared.sum) / static_cast<float>(hidden.value);
    const float scale = 1.0f / ctx.sqrt(mean + p.epsilon);
    for (int k = 0; k < per_thread; ++k) {
      const int i = ctx.thread() + k * threads;
      if (i < hidden.value) ctx.store(p.out, row + i, x[k] * scale * ctx.load(p.weight, i));
    }
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
