// What a branch gave, normalised and added to the hidden states of a prompt's rows (Gemma, OLMo 2). For single tokens every reader does that for itself
// (stream.hpp); a prompt's rows are read by many tiles of outputs, which would all do it again, so here it is a step of its own. A warp takes a row.
#pragma once

#include <cstdint>

#include <diecast/kernels/context.hpp>
#include <diecast/kernels/shapes.hpp>
#include <diecast/kernels/stream.hpp>
#include <diecast/kernels/tile_product.hpp>
#include <diecast/kernels/token_rows.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

template <Hidden hidden, NormKind after, Team team>
struct AddBranch {
  static_assert(hidden.value > 0, "hidden must be positive");
  static constexpr int threads = team.threads;

  struct Params {
    TokenRows rows;
    Stream stream;  // its `updated` is written
  };
  struct Shared {};

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared&) {
    constexpr int warps = threads / warp_lanes;
    const int rows = row_count(ctx, p.rows);
    for (int row = ctx.block() * warps + ctx.warp(); row < rows; row += ctx.blocks() * warps) {
      const std::int64_t base = static_cast<std::int64_t>(row) * hidden.value;
      Measure measure{0.0f, 1.0f};
      if constexpr (after != NormKind::none)
        if (p.stream.branch != nullptr) measure = measure_row<after, hidden.value>(ctx, p.stream.branch, base, p.stream.after.epsilon);
      for (int i = ctx.lane(); i < hidden.value; i += warp_lanes) {
        const auto branch = [&] {
          const float value = ctx.load(p.stream.branch, base + i);
          if constexpr (after == NormKind::none)
            return value;
          else
            return normalised(ctx, value, measure, p.stream.after, i);
        };
        ctx.store(p.stream.updated, base + i, with_branch(ctx, p.stream, base + i, branch));
      }
    }
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
