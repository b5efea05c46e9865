// RoPE on Q and K, and the append of K and V to the cache, in one pass: K is written once, turned, where attention reads it;
// Q turns in place and is never cached. Pairs are (i, i + rotary_dim / 2) (Su et al. 2021, in the half-split order of HF).
// Cosines and sines come as tables that the host made in double: every scaling of the angles is folded into them, and a float
// product of position and frequency would lose the angle's last digits at long positions. One block a token.
#pragma once

#include <cstdint>

#include <diecast/kernels/context.hpp>
#include <diecast/kernels/elements.hpp>
#include <diecast/kernels/paged_cache.hpp>
#include <diecast/kernels/shapes.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

template <HeadShape shape, RotaryDim rotary, class CacheElement>
struct RopeAppend {
  static_assert(shape.heads > 0 && shape.kv_heads > 0 && shape.head_dim > 0, "heads, kv_heads and head_dim must be positive");
  static_assert(shape.heads % shape.kv_heads == 0, "kv_heads must divide heads");
  static_assert(rotary.value > 0 && rotary.value % 2 == 0, "rotary_dim must be even and positive");
  static_assert(rotary.value <= shape.head_dim, "rotary_dim must not be larger than head_dim");
  static constexpr int threads = block_threads(shape.heads * shape.head_dim);

  struct Params {
    float* q;                // [row, heads, head_dim], turned in place
    const float* k;          // [row, kv_heads, head_dim]
    const float* v;          // [row, kv_heads, head_dim]
    std::int64_t q_stride;   // values from one row to the next: Q, K and V may be parts of one matrix
    std::int64_t kv_stride;
    const float* cosines;    // [position, rotary_dim / 2]
    const float* sines;      // [position, rotary_dim / 2]
    const int* positions;    // [row], smaller than the tables' rows: checked on the host
    const int* sequences;    // [row]
    PagedTable table;
    CacheElement* k_cache;   // [slot, kv_heads, head_dim] of this layer
    CacheElement* v_cache;   // [slot, kv_heads, head_dim]
  };
  struct Shared {};

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared&) {
    constexpr int half = rotary.value / 2;
    constexpr int kv_width = shape.kv_heads * shape.head_dim;
    const std::int64_t row = ctx.block();
    const int position = ctx.load(p.positions, row);
    const std::int64_t angles = static_cast<std::int64_t>(position) * half;
    const std::int64_t q = row * p.q_stride;
    const std::int64_t kv = row * p.kv_stride;
    const std::int64_t cache = p.table.slot(ctx, ctx.load(p.sequences, row), position) * kv_width;

    for (int i = ctx.thread(); i < shape.heads * half; i += threads) {
      const Pair pair{i / half * shape.head_dim + i % half};
      const Turned turned = turn(ctx, p, angles + i % half, ctx.load(p.q, q + pair.first), ctx.load(p.q, q + pair.second()));
      ctx.store(p.q, q + pair.first, turned.first);
      ctx.store(p.q, q + pair.second(), turned.second);
    }
    for (int i = ctx.thread(); i < shape.kv_heads * half; i += threads) {
      const Pair pair{i / half * shape.head_dim + i % half};
      const Turned turned = turn(ctx, p, angles + i % half, ctx.load(p.k, kv + pair.first), ctx.load(p.k, kv + pair.second()));
      ctx.store(p.k_cache, cache + pair.first, Stored<CacheElement>::from(turned.first));
      ctx.store(p.k_cache, cache + pair.second(), Stored<CacheElement>::from(turned.second));
    }
    if constexpr (rotary.value < shape.head_dim) {
      constexpr int still = shape.head_dim - rotary.value;  // the values of a head that do not turn
      for (int i = ctx.thread(); i < shape.kv_heads * still; i += threads) {
        const int at = i / still * shape.head_dim + rotary.value + i % still;
        ctx.store(p.k_cache, cache + at, Stored<CacheElement>::from(ctx.load(p.k, kv + at)));
      }
    }
    for (int i = ctx.thread(); i < kv_width; i += threads)
      ctx.store(p.v_cache, cache + i, Stored<CacheElement>::from(ctx.load(p.v, kv + i)));
  }

 private:
  struct Pair {
    int first;
    DIECAST_DEVICE constexpr int second() const { return first + rotary.value / 2; }
  };
  struct Turned {
    float first, second;
  };

  // Each product that is not inside an fma is rounded by itself, whatever the compiler may contract: the same bits on host and device.
  template <ExecutionContext C>
  DIECAST_DEVICE static Turned turn(C& ctx, const Params& p, std::int64_t angle, float first, float second) {
    const float cosine = ctx.load(p.cosines, angle);
    const float sine = ctx.load(p.sines, angle);
    return {ctx.fma(first, cosine, -(second * sine)), ctx.fma(second, cosine, first * sine)};
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
