// Where a position of a sequence lies in the K/V cache: fixed-size blocks, found through a table of block numbers.
// The addressing is that of diecast::BlockTable: slot = block * 16 + place. Offsets are 64-bit: a cache of 128k tokens,
// 8 heads of 128 values already has 2^27 values, and sequences share it.
#pragma once

#include <cstdint>

#include <diecast/kernels/context.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

inline constexpr int cache_block_tokens = 16;

struct PagedTable {
  const int* blocks;        // [sequence, blocks_per_sequence]
  int blocks_per_sequence;  // entries of a row; those beyond a sequence's length are never read

  template <ExecutionContext C>
  DIECAST_DEVICE std::int64_t slot(C& ctx, int sequence, int position) const {
    const std::int64_t entry = static_cast<std::int64_t>(sequence) * blocks_per_sequence + position / cache_block_tokens;
    return static_cast<std::int64_t>(ctx.load(blocks, entry)) * cache_block_tokens + position % cache_block_tokens;
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
