// A prompt's products with all that stands around them, as in the kernels for single tokens: norm before; bias, RoPE, append, activation, residual
// after. Q/K/V takes the two rows that turn together as two products at once, and gate and up likewise, so both results lie in one lane. Where a branch is
// normalised before it is added, that has been done (add_branch.hpp): a stream's hidden states are the sum.
#pragma once

#include <cstdint>

#include <diecast/kernels/gate_up.hpp>
#include <diecast/kernels/linear_residual.hpp>
#include <diecast/kernels/project_qkv.hpp>
#include <diecast/kernels/qkv_append.hpp>
#include <diecast/kernels/tile_product.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

// Who takes which tile: outputs fastest, so that token rows stay in the L2 cache.
template <int threads>
struct Tiles {
  static constexpr int of_block = threads / warp_lanes * tile_outputs;
  int groups, rows;
  DIECAST_DEVICE Tiles(int outputs, int token_rows) : groups((outputs + of_block - 1) / of_block), rows(token_rows) {}
  DIECAST_DEVICE int count() const { return groups * ((rows + tile_rows - 1) / tile_rows); }
  DIECAST_DEVICE int first_row(int item) const { return item / groups * tile_rows; }
  DIECAST_DEVICE int here(int item) const { return rows - first_row(item) < tile_rows ? rows - first_row(item) : tile_rows; }
  DIECAST_DEVICE int output(int item, int warp) const { return item % groups * of_block + warp * tile_outputs; }
};

template <Extents extents, Ending ending, FormSet set, class Element, Team team>
struct PrefillLinear {
  static constexpr int threads = team.threads;
  using Params = typename LinearResidual<extents, ending, set, team>::Params;
  using Shared = TileShared<Element>;

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared& shared) {
    const Tiles<threads> tiles(extents.out, row_count(ctx, p.rows));
    for (int item = ctx.block(); item < tiles.count(); item += ctx.blocks()) {
      const int begin = tiles.output(item, ctx.warp()), own = begin + ctx.lane() / 4;
      const Linear linears[] = {p.linear};
      const std::int64_t rows[] = {own < extents.out ? own : -1};
      TileSum sums[1]{};
      tile_product<NormKind::none, extents.in, set, threads>(ctx, p.in, tiles.first_row(item), tiles.here(item), Norm{}, linears, rows,
                                                             shared, sums);
      each_value(ctx.lane(), tiles.here(item), [&](int row, int column, int m, int part) {
        const int output = begin + column;
        if (output >= extents.out) return;
        const std::int64_t at = static_cast<std::int64_t>(tiles.first_row(item) + row) * extents.out + output;
        const float value = sums[0].of[m].at[part] + (p.linear.bias != nullptr ? ctx.load_constant(p.linear.bias, output) : 0.0f);
        ctx.store(p.out, at, ending == Ending::add ? ctx.fma(value, p.scale, ctx.load(p.out, at)) : value);
      });
    }
  }
};

template <Hidden hidden, MlpShape shape, Prologue prologue, FormSet set, class Element, Team team>
struct PrefillGateUp {
  static constexpr int threads = team.threads;
  using Params = typename GateUp<hidden, shape, prologue, set, team>::Params;
  using Shared = TileShared<Element>;

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared& shared) {
    constexpr int products = shape.gated ? 2 : 1;
    const Tiles<threads> tiles(shape.width, row_count(ctx, p.rows));
    for (int item = ctx.block(); item < tiles.count(); item += ctx.blocks()) {
      const int begin = tiles.output(item, ctx.warp()), own = begin + ctx.lane() / 4;
      Linear linears[products];
      std::int64_t rows[products];
      DIECAST_UNROLL
      for (int i = 0; i < products; ++i) {
        linears[i] = i == 0 ? p.up : p.gate;
        rows[i] = own < shape.width ? own : -1;
      }
      TileSum sums[products]{};
      tile_product<prologue.norm, hidden.value, set, threads>(ctx, p.stream.hidden, tiles.first_row(item), tiles.here(item), p.stream.norm,
                                                              linears, rows, shared, sums);
      each_value(ctx.lane(), tiles.here(item), [&](int row, int column, int m, int part) {
        const int output = begin + column;
        if (output >= shape.width) return;
        const auto with_bias = [&](int i, const Linear& linear) {
          return sums[i].of[m].at[part] + (linear.bias != nullptr ? ctx.load_constant(linear.bias, output) : 0.0f);
        };
        const float up = with_bias(0, p.up);
        float value;
        if constexpr (shape.gated)
          value = activate<shape.activation>(ctx, with_bias(1, p.gate)) * up;
        else
          value = activate<shape.activation>(ctx, up);
        ctx.store(p.out, static_cast<std::int64_t>(tiles.first_row(item) + row) * shape.width + output, value);
      });
    }
  }
};

// Q, K and V as they are, for models that normalise heads. A warp's outputs are of one matrix, so its lanes decode weights of one form.
template <Hidden hidden, HeadShape shape, Prologue prologue, FormSet set, class Element, Team team>
struct PrefillProject {
  static constexpr int threads = team.threads;
  using Single = ProjectQkv<hidden, shape, prologue, set, team>;
  using Params = typename Single::Params;
  using Shared = TileShared<Element>;

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared& shared) {
    constexpr int q_tiles = (Single::q_width + tile_outputs - 1) / tile_outputs,
                  kv_tiles = (Single::kv_width + tile_outputs - 1) / tile_outputs;
    const Tiles<threads> tiles((q_tiles + 2 * kv_tiles) * tile_outputs, row_count(ctx, p.rows));
    for (int item = ctx.block(); item < tiles.count(); item += ctx.blocks()) {
      const int tile = tiles.output(item, ctx.warp()) / tile_outputs;
      const bool is_q = tile < q_tiles, is_k = !is_q && tile < q_tiles + kv_tiles;
      const int begin = (is_q   ? tile
                         : is_k ? tile - q_tiles
                                : tile - q_tiles - kv_tiles) *
                        tile_outputs,
                own = begin + ctx.lane() / 4, width = is_q ? Single::q_width : Single::kv_width,
                before = is_q   ? 0
                         : is_k ? Single::q_width
                                : Single::q_width + Single::kv_width;
      const Linear linear = one_of(is_q, is_k, p.q, p.k, p.v), linears[] = {linear};
      const std::int64_t rows[] = {own < width ? own : -1};
      TileSum sums[1]{};
      tile_product<prologue.norm, hidden.value, set, threads>(ctx, p.stream.hidden, tiles.first_row(item), tiles.here(item), p.stream.norm,
                                                              linears, rows, shared, sums);
      each_value(ctx.lane(), tiles.here(item), [&](int row, int column, int m, int part) {
        const int output = begin + column;
        if (output >= width) return;
        const float value = sums[0].of[m].at[part] + (linear.bias != nullptr ? ctx.load_constant(linear.bias, output) : 0.0f);
        ctx.store(p.out, static_cast<std::int64_t>(tiles.first_row(item) + row) * Single::width + before + output, value);
      });
    }
  }
};

template <Hidden hidden, HeadShape shape, RotaryDim rotary, Prologue prologue, FormSet set, class Element, class CacheElement, Team team>
struct PrefillQkv {
  static constexpr int threads = team.threads;
  using Fused = QkvAppend<hidden, shape, rotary, prologue, set, CacheElement, team>;
  using Params = typename Fused::Params;
  using Shared = TileShared<Element>;

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared& shared) {
    constexpr int pair_tiles = (Fused::Pairs::count + tile_outputs - 1) / tile_outputs,
                  heads = shape.heads + 2 * shape.kv_heads;  // a warp's pairs are of one head
    const Tiles<threads> tiles(heads * pair_tiles * tile_outputs, row_count(ctx, p.rows));
    for (int item = ctx.block(); item < tiles.count(); item += ctx.blocks()) {
      const int tile = tiles.output(item, ctx.warp()) / tile_outputs, head = tile / pair_tiles,
                first_pair = tile % pair_tiles * tile_outputs;
      const auto of_pair = [&](int column) { return Fused::item_of(head * Fused::Pairs::count + first_pair + column); };
      const int own_pair = first_pair + ctx.lane() / 4;
      const bool there = head < heads && own_pair < Fused::Pairs::count;
      const auto own = of_pair(there ? ctx.lane() / 4 : 0);
      const Linear linear = own.linear(p), linears[] = {linear, linear};
      const std::int64_t rows[] = {there ? own.row(own.first) : -1, there && own.has_second ? own.row(own.second) : -1};
      TileSum sums[2]{};
      tile_product<prologue.norm, hidden.value, set, threads>(ctx, p.stream.hidden, tiles.first_row(item), tiles.here(item), p.stream.norm,
                                                              linears, rows, shared, sums);
      if (head >= heads) continue;
      each_value(ctx.lane(), tiles.here(item), [&](int row, int column, int m, int part) {
        if (first_pair + column >= Fused::Pairs::count) return;
        const auto pair = of_pair(column);
        Turned values{sums[0].of[m].at[part], sums[1].of[m].at[part]};
        if (linear.bias != nullptr) {
          values.first += ctx.load_constant(linear.bias, pair.row(pair.first));
          if (pair.has_second) values.second += ctx.load_constant(linear.bias, pair.row(pair.second));
        }
        Fused::put(ctx, p, pair, tiles.first_row(item) + row, values);
      });
    }
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
