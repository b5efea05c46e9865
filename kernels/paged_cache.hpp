// Where a position of a sequence lies in the K/V cache: fixed-size blocks, found through a table of block numbers.
// The addressing is that of diecast::BlockTable: slot = block * 16 + place. A head's sixteen tokens of a block lie together, each in whole
// pieces of 16 bytes, so that lanes load them so. Offsets are 64-bit: a cache of 128k tokens, 8 heads of 128 values already has 2^27 values.
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

// K and V of one layer.
template <class Element>
struct Cache {
  Element* keys;    // [block, kv_heads, 16, stride]
  Element* values;  // [block, kv_heads, 16, stride]
};

template <int kv_heads, int head_dim, class Element>
struct CacheLayout {
  static constexpr int lane_values = 16 / static_cast<int>(sizeof(Element));
  static constexpr int stride = (head_dim + lane_values - 1) / lane_values * lane_values;  // values of a head; those beyond head_dim are 0
  DIECAST_HOST_DEVICE static constexpr std::int64_t offset(std::int64_t slot, int head) {
    return ((slot / cache_block_tokens * kv_heads + head) * cache_block_tokens + slot % cache_block_tokens) * stride;
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
