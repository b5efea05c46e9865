// Step 3: each token's row of the embedding table becomes its hidden state; learned absolute positions (GPT-2) are added here, and a scale
// (Gemma) is multiplied in. The table is packed as every matrix is, since a tied head multiplies by it; a warp takes a row, a lane an octet
// or a block of it. Ids and positions were checked against their tables on the host. Here a step begins: the best logits so far are forgotten.
#pragma once

#include <cstdint>

#include <diecast/kernels/context.hpp>
#include <diecast/kernels/multiply_row.hpp>
#include <diecast/kernels/shapes.hpp>
#include <diecast/kernels/token_rows.hpp>
#include <diecast/kernels/weight_form.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

template <Hidden hidden, FormSet set, Team team>
struct Embed {
  static_assert(hidden.value > 0, "hidden must be positive");
  static constexpr int threads = team.threads;

  struct Params {
    TokenRows rows;
    Linear table;  // [vocab, hidden]
    float scale;
    Linear positions;     // [positions, hidden]; rows null: none are added
    float* out;           // [row, hidden]
    std::uint64_t* best;  // [row], see head.hpp
  };
  struct Shared {};

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared&) {
    const int rows = row_count(ctx, p.rows), warps = threads / warp_lanes;
    for (int row = ctx.block() * warps + ctx.warp(); row < rows; row += ctx.blocks() * warps) {
      const std::int64_t out = static_cast<std::int64_t>(row) * hidden.value;
      read_row(ctx, p.table, ctx.load(p.rows.ids, row), [&](int column, float value) { ctx.store(p.out, out + column, value * p.scale); });
      if (p.positions.rows != nullptr) {
        ctx.sync_warp();  // of another form other lanes have these columns
        read_row(ctx, p.positions, ctx.load(p.rows.positions, row),
                 [&](int column, float value) { ctx.store(p.out, out + column, ctx.load(p.out, out + column) + value); });
      }
      if (ctx.lane() == 0) ctx.store(p.best, row, std::uint64_t{0});
    }
  }

 private:
  // Gives every column of a row to take(column, value).
  template <ExecutionContext C, class Take>
  DIECAST_DEVICE static void read_row(C& ctx, const Linear& table, std::int64_t row, const Take& take) {
    with_form<set>(table.form, [&]<WeightForm form>() {
      if constexpr (form.fits(hidden.value)) {
        constexpr std::int64_t stride = form.row_bytes(hidden.value);
        constexpr int octets = WeightForm::octets(hidden.value);
        const unsigned char* bytes = table.rows + row * stride;
        if constexpr (form.integers()) {
          for (int block = ctx.lane(); block < hidden.value / block_columns; block += warp_lanes) {
            std::uint32_t quads[8];
            load_block<form, hidden.value>(ctx, bytes, block, quads);
            const BlockFactors factors = load_factors<form, hidden.value>(ctx, bytes, block);
            DIECAST_UNROLL
            for (int i = 0; i < block_columns; ++i) {
              const auto q = static_cast<std::uint8_t>(quads[i / 4] >> 8 * (i % 4));
              const int centred = form.is_signed ? static_cast<std::int8_t>(q) : static_cast<int>(q) - form.zero;
              const float value = factors.scale[i / 16] * static_cast<float>(centred);
              take(block * block_columns + i, form.minimum ? value + factors.minimum : value);
            }
          }
        } else {
          for (int octet = ctx.lane(); octet < octets; octet += warp_lanes) {
            float w[8];
            load_octet<form, hidden.value>(ctx, bytes, octet, w);
            DIECAST_UNROLL
            for (int i = 0; i < 8; ++i)
              if (octet * 8 + i < hidden.value) take(octet * 8 + i, w[i]);
          }
        }
      }
    });
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
