// Step 3: each token's row of the embedding table becomes its hidden state; learned absolute positions (GPT-2) are added here.
// One block a token. Ids and positions were checked against their tables on the host.
#pragma once

#include <cstdint>
#include <type_traits>

#include <diecast/kernels/context.hpp>
#include <diecast/kernels/elements.hpp>
#include <diecast/kernels/shapes.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

template <Hidden hidden, PositionScheme scheme, class Element>
struct Embed {
  static_assert(hidden.value > 0, "hidden must be positive");
  static constexpr int threads = block_threads(hidden.value);

  struct AbsolutePositions {
    const Element* table;  // [positions, hidden]
    const int* of_row;     // [row]
  };
  struct NoPositions {};
  using Positions = std::conditional_t<scheme == PositionScheme::absolute, AbsolutePositions, NoPositions>;

  struct Params {
    const Element* table;  // [vocab, hidden]
    const int* ids;        // [row]
    Positions positions;
    float* out;            // [row, hidden]
  };
  struct Shared {};

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared&) {
    const std::int64_t row = ctx.block();
    const std::int64_t from = static_cast<std::int64_t>(ctx.load(p.ids, row)) * hidden.value;
    if constexpr (scheme == PositionScheme::absolute) {
      const std::int64_t position = static_cast<std::int64_t>(ctx.load(p.positions.of_row, row)) * hidden.value;
      for (int i = ctx.thread(); i < hidden.value; i += threads)
        ctx.store(p.out, row * hidden.value + i, to_float(ctx.load(p.table, from + i)) + to_float(ctx.load(p.positions.table, position + i)));
    } else {
      for (int i = ctx.thread(); i < hidden.value; i += threads)
        ctx.store(p.out, row * hidden.value + i, to_float(ctx.load(p.table, from + i)));
    }
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
