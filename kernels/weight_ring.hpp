// Weights that are asked for before they are needed. A memory as fast as a GPU's gives its bytes only to those who have asked for many of them at once, so each warp
// has a ring of whole rows in shared memory: while it multiplies one row, the next ones are on their way by asynchronous copies, 16 bytes a lane, also through a
// barrier or a wait for other blocks. A row lies there as it does in memory (weight_form.hpp), so it is read by the same code. Of rows that are too long for that,
// the next one's beginning is asked for into the L2 cache.
#pragma once

#include <cstdint>
#include <type_traits>

#include <diecast/kernels/context.hpp>
#include <diecast/kernels/vector.hpp>
#include <diecast/kernels/weight_form.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

// A row of one of an operation's matrices.
struct WeightRow {
  Linear linear;
  std::int64_t row;
};

// An H100 reads 25 bytes a nanosecond and SM, and a byte takes 600 to 800 ns to come: 15 to 20 KB must be on their way at the least. One block runs on an SM.
inline constexpr int aimed_bytes_in_flight = 32 * 1024;  // of a block
inline constexpr int most_ring_bytes = 48 * 1024;        // of a block: with token rows of a small model, an SM of 228 KiB has room for four
inline constexpr int most_items_ahead = 16;

struct RingSize {
  int slot;         // bytes of the longest row that has room; 0: none has
  int least;        // of the shortest
  int items_ahead;  // for how many items the rows are asked for before they are needed
};

// The least that has as many bytes in flight as are aimed at, whichever form the rows are of; less where there is no room for that. Rows twice as long as the
// shortest have no room, since they would take it from the others. The smallest ring has the rows of one item ahead.
constexpr RingSize ring_size(int width, FormSet set, int warps, int products) {
  const std::int64_t of_warp = most_ring_bytes / warps;
  std::int64_t least = of_warp, slot = 0;
  for (int place = 0; place < set.count(); ++place)
    if (set.at(place).fits(width) && set.at(place).row_bytes(width) < least) least = set.at(place).row_bytes(width);
  for (int place = 0; place < set.count(); ++place) {
    const WeightForm form = set.at(place);
    if (!form.fits(width)) continue;
    const std::int64_t bytes = form.row_bytes(width);
    if (bytes * (products + 1) <= of_warp && bytes < 2 * least && bytes > slot) slot = bytes;
  }
  if (slot == 0) return {0, 0, 1};
  const std::int64_t wanted = (aimed_bytes_in_flight + warps * products * least - 1) / (warps * products * least),
                     room = (of_warp / slot - 1) / products;
  std::int64_t ahead = wanted < room ? wanted : room;
  if (ahead > most_items_ahead) ahead = most_items_ahead;
  return {static_cast<int>(slot), static_cast<int>(least), static_cast<int>(ahead)};
}

// products: rows of an item; a row that is asked for is the same one of a later item.
template <int width, FormSet set, int threads, int products>
struct WeightRing {
  static constexpr RingSize size = ring_size(width, set, threads / warp_lanes, products);
  static constexpr int warps = threads / warp_lanes, slot = size.slot, items_ahead = size.items_ahead;
  static constexpr int depth = items_ahead * products + 1;  // rows: those that are asked for, and the one that is multiplied
  static constexpr bool any = slot != 0;
  static constexpr int bytes_in_flight = (depth - 1) * warps * size.least;  // of rows of the shortest form
  template <WeightForm form>
  static constexpr bool holds = form.fits(width) && form.row_bytes(width) <= slot;

  struct Slots {
    alignas(16) unsigned char rows[warps][depth][any ? slot : 16];
  };
  struct None {};
  using Shared = std::conditional_t<any, Slots, None>;

  // The row that lies in one of the warp's slots.
  template <ExecutionContext C>
  DIECAST_DEVICE static unsigned char* at(C& ctx, Shared& shared, int place) {
    if constexpr (any)
      return &shared.rows[ctx.warp()][place][0];
    else
      return nullptr;
  }

  // Nobody may read the slot any more.
  template <ExecutionContext C>
  DIECAST_DEVICE static void request(C& ctx, Shared& shared, int place, const WeightRow& row) {
    with_form<set>(row.linear.form, [&]<WeightForm form>() {
      if constexpr (form.fits(width)) {
        constexpr std::int64_t bytes = form.row_bytes(width);
        const unsigned char* from = row.linear.rows + row.row * bytes;
        if constexpr (holds<form>) {
          using Piece = Vector<std::uint32_t, 4>;
          constexpr int pieces = static_cast<int>(bytes / 16);
          auto* to = reinterpret_cast<Piece*>(at(ctx, shared, place));
          DIECAST_UNROLL
          for (int begin = 0; begin < pieces; begin += warp_lanes) {
            const int piece = begin + ctx.lane();
            if (begin + warp_lanes <= pieces || piece < pieces) ctx.copy_async(to, piece, reinterpret_cast<const Piece*>(from), piece);
          }
        } else {
          if (ctx.lane() * 128 < bytes) ctx.prefetch(from, ctx.lane() * 128);
        }
      }
    });
  }
  // What was asked for since the last time; also nothing, since rows are counted.
  template <ExecutionContext C>
  DIECAST_DEVICE static void commit(C& ctx) {
    if constexpr (any) ctx.commit_copies();
  }

  // The oldest row that was asked for is there, for all lanes, and no lane reads the row before it any more.
  template <ExecutionContext C>
  DIECAST_DEVICE static void wait(C& ctx) {
    if constexpr (any) {
      ctx.wait_copies(pending<depth - 2>);
      ctx.sync_warp();
    }
  }
  template <ExecutionContext C>
  DIECAST_DEVICE static void wait_all(C& ctx) {
    if constexpr (any) ctx.wait_copies(pending<0>);
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
