// Products for a prompt: many token rows times a matrix, by tensor cores (mma.sync m16n8k16). A block takes 32 token rows and as many outputs as its
// warps have columns of eight; token rows come into shared memory a panel of columns at a time, normalised on the way and rounded to 16 bits, and
// weights go from memory into fragments directly: a product may add up its columns in any order, so a lane's 16 bytes of a row of weights are the
// fragments of two steps, and the token rows are read in the same order. Weights of integers are rounded to 16 bits as well: a
// prompt's results lie within a bound of what single tokens give, no bit-identity is promised between the two. Among prompts it is: a token's
// sums depend on its own row alone.
#pragma once

#include <cstdint>
#include <type_traits>

#include <diecast/kernels/activations.hpp>
#include <diecast/kernels/context.hpp>
#include <diecast/kernels/multiply_row.hpp>
#include <diecast/kernels/weight_form.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

inline constexpr int tile_rows = 32;       // token rows of a block: two fragments of 16
inline constexpr int panel_columns = 256;  // of the token rows in shared memory
inline constexpr int tile_outputs = 8;     // of a warp

template <class Element>
struct TileShared {
  static constexpr int stride = panel_columns + 32;  // rows begin half of all banks apart
  alignas(16) Element x[tile_rows][stride];
  float mean[tile_rows], scale[tile_rows];
};

template <class Element, ExecutionContext C>
DIECAST_DEVICE std::uint32_t packed_pair(C& ctx, float low, float high) {
  return static_cast<std::uint32_t>(ctx.narrow(low, Element{}).bits) | static_cast<std::uint32_t>(ctx.narrow(high, Element{}).bits) << 16;
}

// Eight weights of a row as 16-bit floats: lane's octet of the 32 columns `chunk`.
template <WeightForm form, int width, class Element, ExecutionContext C>
DIECAST_DEVICE Words load_weights(C& ctx, const unsigned char* row, int chunk) {
  const int octet = ctx.lane() % 4;
  Words words{};
  if constexpr (form.integers()) {
    std::uint32_t quads[8];
    load_block<form, width>(ctx, row, chunk, quads);
    const BlockFactors factors = load_factors<form, width>(ctx, row, chunk);
    float w[8];
    DIECAST_UNROLL
    for (int i = 0; i < 8; ++i) {
      std::uint32_t quad = 0;
      DIECAST_UNROLL
      for (int k = 0; k < 4; ++k)
        if (octet == k) quad = quads[2 * k + i / 4];
      const auto q = static_cast<std::uint8_t>(quad >> 8 * (i % 4));
      const int centred = form.is_signed ? static_cast<std::int8_t>(q) : static_cast<int>(q) - form.zero;
      w[i] = (octet < 2 ? factors.scale[0] : factors.scale[1]) * static_cast<float>(centred) + (form.minimum ? factors.minimum : 0.0f);
    }
    DIECAST_UNROLL
    for (int i = 0; i < 4; ++i) words.at[i] = packed_pair<Element>(ctx, w[2 * i], w[2 * i + 1]);
  } else {
    constexpr int octets = WeightForm::octets(width);
    if (4 * chunk + octet < octets) {
      constexpr bool same = form.bits == 16 && form.brain == std::is_same_v<Element, Bfloat16>;
      if constexpr (same) {
        words = ctx.load_once(reinterpret_cast<const Words*>(row), 4 * chunk + octet);
      } else {
        float w[8];
        load_octet<form, width>(ctx, row, 4 * chunk + octet, w);
        DIECAST_UNROLL
        for (int i = 0; i < 4; ++i) words.at[i] = packed_pair<Element>(ctx, w[2 * i], w[2 * i + 1]);
      }
    }
  }
  return words;
}

// Sums of the block's 32 token rows and one output column a lane group: sum[m] has rows 16 m to 16 m + 15.
struct TileSum {
  FragmentC<float> of[tile_rows / 16];
};

// Adds a panel's part. row: of the matrix, the lane group's own; below 0: none, its sums stay 0.
template <int width, FormSet set, class Element, ExecutionContext C>
DIECAST_DEVICE void add_panel(C& ctx, const Linear& linear, std::int64_t row, int panel, const TileShared<Element>& shared, TileSum& sum) {
  constexpr int all_chunks = (width + 31) / 32, panel_chunks = panel_columns / 32;
  const int chunks = all_chunks - panel * panel_chunks < panel_chunks ? all_chunks - panel * panel_chunks : panel_chunks;
  with_form<set>(linear.form, [&]<WeightForm form>() {
    if constexpr (form.fits(width)) {
      constexpr std::int64_t stride = form.row_bytes(width);
      for (int chunk = 0; chunk < chunks; ++chunk) {
        const Words w =
            row >= 0 ? load_weights<form, width, Element>(ctx, linear.rows + row * stride, panel * panel_chunks + chunk) : Words{};
        const int at = chunk * 4 + ctx.lane() % 4;
        DIECAST_UNROLL
        for (int m = 0; m < tile_rows / 16; ++m) {
          const auto x = [&](int half) {
            return ctx.load(reinterpret_cast<const Words*>(&shared.x[16 * m + 8 * half + ctx.lane() / 4][0]), at);
          };
          const Words upper = x(0), lower = x(1);
          DIECAST_UNROLL
          for (int step = 0; step < 2; ++step) {
            const FragmentA<Element> a{{upper.at[2 * step], lower.at[2 * step], upper.at[2 * step + 1], lower.at[2 * step + 1]}};
            const FragmentB<Element> b{{w.at[2 * step], w.at[2 * step + 1]}};
            sum.of[m] = ctx.multiply_add(a, b, sum.of[m]);
          }
        }
      }
    }
  });
}

// What a norm does to a row's values before its weights: (x - mean) * scale.
struct Measure {
  float mean, scale;
};
// A warp's work.
template <NormKind kind, int width, ExecutionContext C>
DIECAST_DEVICE Measure measure_row(C& ctx, const float* in, std::int64_t base, float epsilon) {
  float mean = 0, squares = 0;
  if constexpr (kind == NormKind::layer) {
    float all = 0;
    for (int i = ctx.lane(); i < width; i += warp_lanes) all += ctx.load(in, base + i);
    mean = ctx.divide(ctx.warp_sum(all), static_cast<float>(width));
  }
  for (int i = ctx.lane(); i < width; i += warp_lanes) {
    const float x = ctx.load(in, base + i) - mean;
    squares = ctx.fma(x, x, squares);
  }
  return {mean, ctx.divide(1.0f, ctx.sqrt(ctx.divide(ctx.warp_sum(squares), static_cast<float>(width)) + epsilon))};
}
template <ExecutionContext C>
DIECAST_DEVICE float normalised(C& ctx, float x, const Measure& measure, const Norm& norm, int column) {
  x = (x - measure.mean) * measure.scale * ctx.load_constant(norm.weight, column);
  return norm.bias != nullptr ? x + ctx.load_constant(norm.bias, column) : x;
}

// Of each token row of a tile; a warp takes a row.
template <NormKind kind, int width, class Element, ExecutionContext C>
DIECAST_DEVICE void measure_rows(C& ctx, const float* in, std::int64_t first, int count, const Norm& norm, TileShared<Element>& shared,
                                 int warps) {
  if constexpr (kind != NormKind::none) {
    for (int row = ctx.warp(); row < count; row += warps) {
      const Measure measure = measure_row<kind, width>(ctx, in, (first + row) * width, norm.epsilon);
      if (ctx.lane() == 0) {
        ctx.store(shared.mean, row, measure.mean);
        ctx.store(shared.scale, row, measure.scale);
      }
    }
  }
}

// A panel of the token rows, normalised. Rows and columns that are not there are 0.
template <NormKind kind, int width, class Element, ExecutionContext C>
DIECAST_DEVICE void load_panel(C& ctx, const float* in, std::int64_t first, int count, int panel, const Norm& norm,
                               TileShared<Element>& shared, int threads) {
  for (int item = ctx.thread(); item < tile_rows * panel_columns / 8; item += threads) {
    const int row = item / (panel_columns / 8), octet = item % (panel_columns / 8);
    float x[8];
    DIECAST_UNROLL
    for (int i = 0; i < 8; ++i) {
      const int column = panel * panel_columns + octet * 8 + i;
      x[i] = 0;
      if (row < count && column < width) {
        x[i] = ctx.load(in, (first + row) * width + column);
        if constexpr (kind != NormKind::none)
          x[i] = normalised(ctx, x[i], {ctx.load(shared.mean, row), ctx.load(shared.scale, row)}, norm, column);
      }
    }
    Words words;
    DIECAST_UNROLL
    for (int i = 0; i < 4; ++i) words.at[i] = packed_pair<Element>(ctx, x[2 * i], x[2 * i + 1]);
    ctx.store(reinterpret_cast<Words*>(&shared.x[row][0]), octet, words);
  }
}

// The whole of it for one block's item: `count` products of the same token rows, each lane group with a row of its own in each matrix.
template <NormKind kind, int width, FormSet set, int threads, int products, class Element, ExecutionContext C>
DIECAST_DEVICE void tile_product(C& ctx, const float* in, std::int64_t first, int count, const Norm& norm,
                                 const Linear (&linears)[products], const std::int64_t (&rows)[products], TileShared<Element>& shared,
                                 TileSum (&sums)[products]) {
  measure_rows<kind, width>(ctx, in, first, count, norm, shared, threads / warp_lanes);
  for (int panel = 0; panel * panel_columns < width; ++panel) {
    ctx.barrier();  // rows are measured, and nobody reads the panel before
    load_panel<kind, width>(ctx, in, first, count, panel, norm, shared, threads);
    ctx.barrier();
    DIECAST_UNROLL
    for (int i = 0; i < products; ++i) add_panel<width, set>(ctx, linears[i], rows[i], panel, shared, sums[i]);
  }
  ctx.barrier();  // the next item's rows come into the same place
}

// take(token row of the tile, which of the lane group's eight outputs, place of the value in registers) for every value that a lane has.
template <class Take>
DIECAST_DEVICE void each_value(int lane, int count, const Take& take) {
  DIECAST_UNROLL
  for (int m = 0; m < tile_rows / 16; ++m) {
    DIECAST_UNROLL
    for (int part = 0; part < 4; ++part) {
      const Cell cell = place_in_c(lane, part);
      if (16 * m + cell.row < count) take(16 * m + cell.row, cell.column, m, part);
    }
  }
}

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
