// Norm + gate and up + bias + activation: what goes into the MLP's down. A warp multiplies a row of gate and the same row of up, so the two
// results meet in registers. Without a gate, up goes through the activation.
#pragma once

#include <cstdint>

#include <diecast/kernels/activate.hpp>
#include <diecast/kernels/context.hpp>
#include <diecast/kernels/multiply_row.hpp>
#include <diecast/kernels/shapes.hpp>
#include <diecast/kernels/stream.hpp>
#include <diecast/kernels/token_rows.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

struct MlpShape {
  int width;
  bool gated;
  Activate activation;
};

template <Hidden hidden, MlpShape shape, Prologue prologue, FormSet set, Team team>
struct GateUp {
  static_assert(hidden.value > 0 && shape.width > 0, "hidden and the MLP's width must be positive");
  static constexpr int threads = team.threads;

  struct Params {
    TokenRows rows;
    Stream stream;
    Linear gate;  // not read without a gate
    Linear up;
    float* out;  // [row, width]
  };
  struct Shared {
    Activations<hidden.value, set, team.tokens> x;
    BlockSumShared<threads> sum;
  };

  // The weights that this warp begins with.
  template <ExecutionContext C>
  DIECAST_DEVICE static void prefetch(C& ctx, const Params& p) {
    const int item = ctx.block() * (threads / warp_lanes) + ctx.warp();
    if (item >= shape.width) return;
    prefetch_row<hidden.value, set>(ctx, p.up, item);
    if constexpr (shape.gated) prefetch_row<hidden.value, set>(ctx, p.gate, item);
  }

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared& shared) {
    constexpr int warps = threads / warp_lanes;
    const int rows = row_count(ctx, p.rows);
    for (int begin = 0; begin < rows; begin += team.tokens) {
      const int count = rows - begin < team.tokens ? rows - begin : team.tokens;
      for (int t = 0; t < count; ++t) fill_from_stream<prologue, threads>(ctx, shared.x, t, begin + t, p.stream, shared.sum);
      ctx.barrier();
      for (int item = ctx.block() * warps + ctx.warp(); item < shape.width; item += ctx.blocks() * warps) {
        float up[team.tokens], gate[team.tokens];
        multiply_row(ctx, p.up, item, shared.x, count, up);
        if constexpr (shape.gated) multiply_row(ctx, p.gate, item, shared.x, count, gate);
        const int t = ctx.lane();
        if (t < count) {
          const float value = shape.gated ? activate<shape.activation>(ctx, of_lane(gate, t)) * of_lane(up, t)
                                          : activate<shape.activation>(ctx, of_lane(up, t));
          ctx.store(p.out, static_cast<std::int64_t>(begin + t) * shape.width + item, value);
        }
      }
      ctx.barrier();  // the next rows come into the same place
    }
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
