// The input of a matrix-vector product in shared memory: a few token rows, as floats and, where weights are integers, as bytes of which 32
// share a scale. A lane reads 16 bytes at a time; what the lanes of a warp read together lies together, so no two of them want the same bank.
#pragma once

#include <cstdint>
#include <type_traits>

#include <diecast/kernels/block_sum.hpp>
#include <diecast/kernels/context.hpp>
#include <diecast/kernels/weight_form.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

// Eight floats are a lane's: the lower four of all octets, then the upper four. The planes are half of all banks apart, so that writers who walk
// along the columns do not meet either.
template <int width, int tokens>
struct FloatRows {
  static constexpr int octets = WeightForm::octets(width);
  static constexpr int plane = (4 * octets + 15) / 32 * 32 + 16;
  alignas(16) float values[tokens][2 * plane];
  DIECAST_DEVICE static constexpr int index(int column) { return column % 8 / 4 * plane + column / 8 * 4 + column % 4; }
};
// x = scale * integer; sums of the integers for zero points and minima: of the lower sixteen, and of all.
template <int width, int tokens>
struct IntegerRows {
  static constexpr int blocks = width / block_columns;
  alignas(16) std::int8_t integers[tokens][2][blocks][16];
  float scales[tokens][blocks];
  alignas(8) std::int32_t sums[tokens][blocks][2];
};
struct NoRows {};

// Floats are kept for each token only where a form wants floats; else one row is room for the way to integers.
template <int width, FormSet set, int tokens>
struct Activations {
  static_assert(width > 0 && tokens > 0, "width and tokens must be positive");
  static constexpr bool floats = set.any_floats();
  static constexpr bool integers = set.any_integers() && width % block_columns == 0;
  static_assert(floats || integers, "weights of integers need a width that is a multiple of 32");
  FloatRows<width, floats ? tokens : 1> as_floats;
  std::conditional_t<integers, IntegerRows<width, tokens>, NoRows> as_integers;
};

enum class NormKind { none, rms, layer };

struct Norm {
  const float* weight;  // [width]
  const float* bias;    // [width], or null
  float epsilon;
};

// x / sqrt(mean(x^2) + epsilon) * weight, of LayerNorm with the mean taken off before and the bias added after; in place, by the whole block.
// Each thread has its own columns in every pass, so no barrier is needed but those of the sum.
template <NormKind kind, int width, int threads, ExecutionContext C>
DIECAST_DEVICE void normalise(C& ctx, float* values, const Norm& norm, BlockSumShared<threads>& sum) {
  using Rows = FloatRows<width, 1>;
  if constexpr (kind != NormKind::none) {
    float mean = 0;
    if constexpr (kind == NormKind::layer) {
      float all = 0;
      for (int i = ctx.thread(); i < width; i += threads) all += ctx.load(values, Rows::index(i));
      mean = ctx.divide(block_sum<threads>(ctx, all, sum), static_cast<float>(width));
    }
    float squares = 0;
    for (int i = ctx.thread(); i < width; i += threads) {
      const float x = ctx.load(values, Rows::index(i)) - mean;
      squares = ctx.fma(x, x, squares);
    }
    const float mean_square = ctx.divide(block_sum<threads>(ctx, squares, sum), static_cast<float>(width));
    const float scale = ctx.divide(1.0f, ctx.sqrt(mean_square + norm.epsilon));
    for (int i = ctx.thread(); i < width; i += threads) {
      const float x = (ctx.load(values, Rows::index(i)) - mean) * scale;
      const float weight = ctx.load_constant(norm.weight, i);
      ctx.store(values, Rows::index(i), norm.bias != nullptr ? ctx.fma(x, weight, ctx.load_constant(norm.bias, i)) : x * weight);
    }
  }
}

// One row of floats to integers: the greatest of 32 becomes 127. A warp takes a block of columns. What is not finite makes the scale NaN.
template <int width, int tokens, ExecutionContext C>
DIECAST_DEVICE void quantise(C& ctx, const float* values, IntegerRows<width, tokens>& to, int token, int warps) {
  for (int block = ctx.warp(); block < width / block_columns; block += warps) {
    const float x = ctx.load(values, FloatRows<width, 1>::index(block * block_columns + ctx.lane()));
    const float most = ctx.warp_max(x < 0 ? -x : x);
    const float wrong = ctx.warp_sum(x * 0.0f);
    const float inverse = most > 1e-30f ? ctx.divide(127.0f, most) : 0.0f;  // below that the quotient is not finite, and all integers are 0
    const bool finite = wrong == 0.0f;
    const std::int32_t q = finite ? ctx.round(x * inverse) : 0;
    ctx.store(&to.integers[token][0][0][0], (ctx.lane() / 16 * IntegerRows<width, tokens>::blocks + block) * 16 + ctx.lane() % 16,
              static_cast<std::int8_t>(q));
    const std::int32_t lower = ctx.warp_sum(ctx.lane() < 16 ? q : 0);
    const std::int32_t all = ctx.warp_sum(q);
    if (ctx.lane() == 0) {
      ctx.store(to.scales[token], block, ctx.divide(most, 127.0f) + wrong);
      ctx.store(to.sums[token][block], 0, lower);
      ctx.store(to.sums[token][block], 1, all);
    }
  }
}

// Fills one token's row: value(column) gives it, then it is normalised, then made integers where a form wants them. All threads of the block
// take part. The rows may be read after the next barrier.
template <NormKind kind, int threads, int width, FormSet set, int tokens, ExecutionContext C, class Value>
DIECAST_DEVICE void fill_row(C& ctx, Activations<width, set, tokens>& x, int token, const Norm& norm, BlockSumShared<threads>& sum,
                             const Value& value) {
  using Rows = FloatRows<width, 1>;
  constexpr bool floats = Activations<width, set, tokens>::floats;
  float* values = x.as_floats.values[floats ? token : 0];
  for (int i = ctx.thread(); i < 8 * Rows::octets; i += threads) ctx.store(values, Rows::index(i), i < width ? value(i) : 0.0f);
  normalise<kind, width, threads>(ctx, values, norm, sum);
  if constexpr (Activations<width, set, tokens>::integers) {
    ctx.barrier();  // a block of 32 columns is several threads' work
    quantise<width, tokens>(ctx, values, x.as_integers, token, threads / warp_lanes);
    if constexpr (!floats) ctx.barrier();  // the next token's floats come into the same place
  }
}

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
