// Norm + gate and up + bias + activation: what goes into the MLP's down. A warp multiplies a row of gate and the same row of up, so the two
// results meet in registers. Without a gate, up goes through the activation.
#pragma once

#include <cstdint>

#include <diecast/kernels/activate.hpp>
#include <diecast/kernels/context.hpp>
#include <diecast/kernels/row_products.hpp>
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
  using Products = RowProducts<hidden.value, set, team, shape.gated ? 2 : 1>;
  using Shared = typename Products::Shared;
  static constexpr int items = shape.width;
  DIECAST_DEVICE static WeightRow row(const Params& p, int item, int which) { return {which == 0 ? p.up : p.gate, item}; }

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared& shared, Requested weights = Requested::no) {
    const auto fill = [&](int t, int row) { fill_from_stream<prologue, threads>(ctx, shared.x, t, row, p.stream, shared.sum); };
    Products::template each_tile<GateUp>(ctx, p, shared, weights, row_count(ctx, p.rows), fill, [&](int begin, int count) {
      Products::template each_item<GateUp>(ctx, p, shared, count, [&](int item, const auto& sums) {
        const int t = ctx.lane();
        if (t >= count) return;
        const float up = of_lane(sums[0], t);
        float value;
        if constexpr (shape.gated)
          value = activate<shape.activation>(ctx, of_lane(sums[1], t)) * up;
        else
          value = activate<shape.activation>(ctx, up);
        ctx.store(p.out, static_cast<std::int64_t>(begin + t) * shape.width + item, value);
      });
    });
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
