// One row of a matrix times a few token rows, by one warp: sum[t] = row . x[t], the same bits in every lane. Each lane adds up its octets or
// blocks in ascending order, then the warp adds up its lanes, so the order depends on the width and the form alone: never on the grid, the
// batch, or who stands beside. Weights are read once, 16 bytes a lane; integers are multiplied as integers, four to an instruction. Whether a row lies in memory or has
// come into the ring (weight_ring.hpp) makes no difference to its sum.
#pragma once

#include <cstdint>

#include <diecast/kernels/activations.hpp>
#include <diecast/kernels/context.hpp>
#include <diecast/kernels/weight_form.hpp>
#include <diecast/kernels/weight_ring.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

using Words = Vector<std::uint32_t, 4>;
using FloatQuad = Vector<float, 4>;

// Where a row of weights lies: in memory, which it leaves once, or in shared memory (weight_ring.hpp).
enum class Lies { in_memory, in_ring };
template <Lies where, ExecutionContext C, class T>
DIECAST_DEVICE T read(C& ctx, const T* from, std::int64_t index) {
  if constexpr (where == Lies::in_ring)
    return ctx.load(from, index);
  else
    return ctx.load_once(from, index);
}

// The eight floats of an octet.
template <WeightForm form, int width, Lies where = Lies::in_memory, ExecutionContext C>
DIECAST_DEVICE void load_octet(C& ctx, const unsigned char* row, int octet, float (&w)[8]) {
  if constexpr (form.bits == 32) {
    const auto* planes = reinterpret_cast<const FloatQuad*>(row);
    constexpr int octets = WeightForm::octets(width);
    const FloatQuad low = read<where>(ctx, planes, octet), high = read<where>(ctx, planes, octets + octet);
    DIECAST_UNROLL
    for (int i = 0; i < 4; ++i) {
      w[i] = low.at[i];
      w[i + 4] = high.at[i];
    }
  } else {
    using Element = std::conditional_t<form.brain, Bfloat16, Half>;
    const auto eight = read<where>(ctx, reinterpret_cast<const Vector<Element, 8>*>(row), octet);
    DIECAST_UNROLL
    for (int i = 0; i < 8; ++i) w[i] = ctx.widen(eight.at[i]);
  }
}

template <WeightForm form, int width, Lies where, FormSet set, int tokens, ExecutionContext C>
DIECAST_DEVICE void add_floats(C& ctx, const unsigned char* row, const Activations<width, set, tokens>& x, int count,
                               float (&sum)[tokens]) {
  using Rows = FloatRows<width, 1>;
  constexpr int steps = (Rows::octets + warp_lanes - 1) / warp_lanes;
  for (int step = 0; step < steps; ++step) {
    const int octet = step * warp_lanes + ctx.lane();
    if (Rows::octets % warp_lanes != 0 && octet >= Rows::octets) break;
    float w[8];
    load_octet<form, width, where>(ctx, row, octet, w);
    DIECAST_UNROLL
    for (int t = 0; t < tokens; ++t)
      if (t < count) {
        const auto* planes = as_vectors<4>(x.as_floats.values[t]);
        const FloatQuad low = ctx.load(planes, octet), high = ctx.load(planes, Rows::plane / 4 + octet);
        DIECAST_UNROLL
        for (int i = 0; i < 4; ++i) sum[t] = ctx.fma(w[i], low.at[i], sum[t]);
        DIECAST_UNROLL
        for (int i = 0; i < 4; ++i) sum[t] = ctx.fma(w[i + 4], high.at[i], sum[t]);
      }
  }
}

// The integers of a block, four columns to a word: quad k has the columns 4 k to 4 k + 3.
template <WeightForm form, int width, Lies where = Lies::in_memory, ExecutionContext C>
DIECAST_DEVICE void load_block(C& ctx, const unsigned char* row, int block, std::uint32_t (&quads)[8]) {
  constexpr int blocks = width / block_columns;
  [[maybe_unused]] constexpr std::int64_t high = form.low_bytes(width);
  const auto* planes = reinterpret_cast<const Words*>(row);
  const Words first = read<where>(ctx, planes, block);
  if constexpr (form.bits == 8) {
    const Words second = read<where>(ctx, planes, blocks + block);
    DIECAST_UNROLL
    for (int k = 0; k < 4; ++k) {
      quads[k] = first.at[k];
      quads[k + 4] = second.at[k];
    }
  } else {
    DIECAST_UNROLL
    for (int k = 0; k < 4; ++k) {
      quads[k] = first.at[k] & 0x0f0f0f0fu;
      quads[k + 4] = first.at[k] >> 4 & 0x0f0f0f0fu;
    }
  }
  if constexpr (form.bits == 5) {
    const std::uint32_t fifth = read<where>(ctx, reinterpret_cast<const std::uint32_t*>(row + high), block);
    DIECAST_UNROLL
    for (int k = 0; k < 8; ++k) quads[k] |= (fifth >> k & 0x01010101u) << 4;
  }
  if constexpr (form.bits == 6) {
    const auto upper = read<where>(ctx, reinterpret_cast<const Vector<std::uint32_t, 2>*>(row + high), block);
    DIECAST_UNROLL
    for (int k = 0; k < 8; ++k) quads[k] |= (upper.at[k / 4] >> 2 * (k % 4) & 0x03030303u) << 4;
  }
}

// What the groups of a block share: w = scale * (q - zero) + minimum. One group of 32, or two of 16.
struct BlockFactors {
  float scale[2];
  float minimum;
};

template <WeightForm form, int width, Lies where = Lies::in_memory, ExecutionContext C>
DIECAST_DEVICE BlockFactors load_factors(C& ctx, const unsigned char* row, int block) {
  [[maybe_unused]] constexpr int blocks = width / block_columns, groups = form.groups();
  constexpr std::int64_t halves = form.scale_offset(width);
  static_assert(form.group == 32 || !form.minimum, "groups of 16 have no minimum in any form");
  const int at = form.two_levels ? block * block_columns / super_columns : block;
  float d, least = 0;
  if constexpr (form.minimum) {
    const auto pair = read<where>(ctx, reinterpret_cast<const Vector<Half, 2>*>(row + halves), at);
    d = ctx.widen(pair.at[0]);
    least = ctx.widen(pair.at[1]);
  } else {
    d = ctx.widen(read<where>(ctx, reinterpret_cast<const Half*>(row + halves), at));
  }
  if constexpr (!form.two_levels) return {{d, d}, least};
  constexpr std::int64_t factors_at = form.factor_offset(width);
  const unsigned char* bytes = row + factors_at;
  if constexpr (form.minimum) {
    const float factor = static_cast<float>(read<where>(ctx, bytes, block)),
                of_minimum = static_cast<float>(read<where>(ctx, bytes, blocks + block));
    return {{d * factor, d * factor}, -(least * of_minimum)};
  } else {
    const auto factors = read<where>(ctx, reinterpret_cast<const Vector<std::int8_t, groups>*>(bytes), block);
    return {{d * static_cast<float>(factors.at[0]), d * static_cast<float>(factors.at[groups - 1])}, least};
  }
}

template <WeightForm form, int width, Lies where, FormSet set, int tokens, ExecutionContext C>
DIECAST_DEVICE void add_integers(C& ctx, const unsigned char* row, const Activations<width, set, tokens>& x, int count,
                                 float (&sum)[tokens]) {
  constexpr int blocks = width / block_columns, steps = (blocks + warp_lanes - 1) / warp_lanes;
  for (int step = 0; step < steps; ++step) {
    const int block = step * warp_lanes + ctx.lane();
    if (blocks % warp_lanes != 0 && block >= blocks) break;
    std::uint32_t quads[8];
    load_block<form, width, where>(ctx, row, block, quads);
    const BlockFactors factors = load_factors<form, width, where>(ctx, row, block);
    DIECAST_UNROLL
    for (int t = 0; t < tokens; ++t)
      if (t < count) {
        std::int32_t product[2] = {0, 0};  // of the lower sixteen columns, of the upper
        DIECAST_UNROLL
        for (int half = 0; half < 2; ++half) {
          const Words bytes = ctx.load(reinterpret_cast<const Words*>(&x.as_integers.integers[t][half][0][0]), block);
          DIECAST_UNROLL
          for (int k = 0; k < 4; ++k) {
            const std::uint32_t q = quads[4 * half + k];
            const auto of_x = static_cast<std::int32_t>(bytes.at[k]);
            product[half] = form.is_signed ? ctx.dot4(static_cast<std::int32_t>(q), of_x, product[half]) : ctx.dot4(q, of_x, product[half]);
          }
        }
        const float scale = ctx.load(x.as_integers.scales[t], block);
        float value;
        if constexpr (form.minimum || form.zero != 0) {
          const auto sums = ctx.load(as_vectors<2>(x.as_integers.sums[t][0]), block);
          if constexpr (form.groups() == 2) {
            value = factors.scale[0] * static_cast<float>(product[0] - form.zero * sums.at[0]);
            value = ctx.fma(factors.scale[1], static_cast<float>(product[1] - form.zero * (sums.at[1] - sums.at[0])), value);
          } else {
            value = factors.scale[0] * static_cast<float>(product[0] + product[1] - form.zero * sums.at[1]);
            if constexpr (form.minimum) value = ctx.fma(factors.minimum, static_cast<float>(sums.at[1]), value);
          }
        } else {
          value = factors.scale[0] * static_cast<float>(product[0] + product[1]);
        }
        sum[t] = ctx.fma(value, scale, sum[t]);
      }
  }
}

// The product with one row, which lies in the ring if that holds its form. `count` of the token rows are there; sums of the others are 0.
template <class Ring, int width, FormSet set, int tokens, ExecutionContext C>
DIECAST_DEVICE void multiply_row(C& ctx, const WeightRow& row, const unsigned char* in_ring, const Activations<width, set, tokens>& x,
                                 int count, float (&sum)[tokens]) {
  const Linear& linear = row.linear;
  DIECAST_UNROLL
  for (int t = 0; t < tokens; ++t) sum[t] = 0;
  with_form<set>(linear.form, [&]<WeightForm form>() {
    if constexpr (form.fits(width)) {
      constexpr std::int64_t stride = form.row_bytes(width);
      constexpr Lies where = Ring::template holds<form> ? Lies::in_ring : Lies::in_memory;
      const unsigned char* bytes = where == Lies::in_ring ? in_ring : linear.rows + row.row * stride;
      if constexpr (form.integers())
        add_integers<form, width, where>(ctx, bytes, x, count, sum);
      else
        add_floats<form, width, where>(ctx, bytes, x, count, sum);
    }
  });
  const float bias = linear.bias != nullptr ? ctx.load_constant(linear.bias, row.row) : 0.0f;
  DIECAST_UNROLL
  for (int t = 0; t < tokens; ++t)
    if (t < count) sum[t] = ctx.warp_sum(sum[t]) + bias;
}

// The token's own sum in lane t: without indexing registers.
template <int tokens>
DIECAST_DEVICE float of_lane(const float (&sum)[tokens], int lane) {
  float own = 0;
  DIECAST_UNROLL
  for (int t = 0; t < tokens; ++t)
    if (lane == t) own = sum[t];
  return own;
}

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
