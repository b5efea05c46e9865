// What runs on a device, and how large: grids, buffers, shared memory, as plain integers that need no device to be checked. A grid is never
// larger than its work, and never larger than the device: an operation's blocks walk over their items, so results do not depend on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <diecast/error.hpp>
#include <diecast/kernels/model_shape.hpp>

namespace diecast::cuda {

struct Capacity {
  int processors;  // of the device
  int rows;        // tokens of one pass; a longer forward takes several
  int positions;   // of a sequence
};

struct Launch {
  std::string operation;
  int blocks;
  int threads;
  std::size_t shared_bytes;
};

constexpr std::int64_t ceil_divide(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

// Blocks for so many items, of which each block takes `per_block` at once.
constexpr int grid(const Capacity& capacity, std::int64_t items, int per_block) {
  const std::int64_t wanted = ceil_divide(items, per_block);
  return static_cast<int>(wanted < 1 ? 1 : wanted < capacity.processors ? wanted : capacity.processors);
}

constexpr int most_chunks(int positions) { return static_cast<int>(ceil_divide(positions, kernels::attention_chunk)); }

// The grids of one layer's operations and of what stands around the layers.
template <kernels::ModelShape m, class CacheElement>
struct Grids {
  using Operations = kernels::ModelOperations<m, CacheElement>;
  static constexpr int warps = m.team.threads / kernels::warp_lanes;
  static constexpr int all_heads = m.heads.heads + 2 * m.heads.kv_heads;
  using Pairs = kernels::HeadPairs<m.heads.head_dim, m.rotary.value>;

  int embed, qkv, project, norm_rope, attention, output, gate_up, down, head;

  constexpr Grids(const Capacity& c, int rows, int longest)
      : embed(grid(c, rows, warps)),
        qkv(grid(c, all_heads * Pairs::count, warps)),
        project(grid(c, all_heads * m.heads.head_dim, warps)),
        norm_rope(grid(c, static_cast<std::int64_t>(rows) * all_heads, warps)),
        attention(grid(c, static_cast<std::int64_t>(rows) * m.heads.kv_heads * Operations::Attention::slices * most_chunks(longest), 1)),
        output(grid(c, m.hidden, warps)),
        gate_up(grid(c, m.mlp.width, warps)),
        down(grid(c, m.hidden, warps)),
        head(grid(c, m.vocab, warps)) {}
};

// The launches of one forward over `rows` tokens, the longest of them at position `longest` - 1, in order; a layer's are listed once.
template <kernels::ModelShape m, class CacheElement>
std::vector<Launch> launches(const Capacity& capacity, int rows, int longest) {
  using Operations = kernels::ModelOperations<m, CacheElement>;
  const Grids<m, CacheElement> grids(capacity, rows, longest);
  std::vector<Launch> list;
  const auto add = [&]<class Op>(std::type_identity<Op>, const char* name, int blocks) {
    list.push_back({name, blocks, Op::threads, std::is_empty_v<typename Op::Shared> ? 0 : sizeof(typename Op::Shared)});
  };
  add(std::type_identity<typename Operations::Embed>{}, "embed", grids.embed);
  if constexpr (Operations::fused_qkv) {
    add(std::type_identity<typename Operations::QkvAppend>{}, "qkv_append", grids.qkv);
  } else {
    add(std::type_identity<typename Operations::ProjectQkv>{}, "project_qkv", grids.project);
    add(std::type_identity<typename Operations::NormRopeAppend>{}, "norm_rope_append", grids.norm_rope);
  }
  add(std::type_identity<typename Operations::Attention>{}, "attention", grids.attention);
  add(std::type_identity<typename Operations::Output>{}, "output", grids.output);
  add(std::type_identity<typename Operations::GateUp>{}, "gate_up", grids.gate_up);
  add(std::type_identity<typename Operations::Down>{}, "down", grids.down);
  add(std::type_identity<typename Operations::Head>{}, "head", grids.head);
  return list;
}

// Elements of the buffers that one context needs beside the weights.
struct BufferSizes {
  std::size_t hidden;     // floats, each of two
  std::size_t branch;     // floats
  std::size_t queries;    // floats
  std::size_t projected;  // floats, where Q and K are normalised
  std::size_t attended;   // floats
  std::size_t inner;      // floats
  std::size_t partials;   // floats
  std::size_t arrivals;   // 32-bit counters
  std::size_t logits;     // floats
  std::size_t cache;      // elements of K and as many of V, of one layer
};

template <kernels::ModelShape m, class CacheElement>
constexpr BufferSizes buffer_sizes(const Capacity& capacity, int cache_blocks) {
  using Operations = kernels::ModelOperations<m, CacheElement>;
  using Attention = typename Operations::Attention;
  const auto rows = static_cast<std::size_t>(capacity.rows);
  const auto times = [&](int width) { return rows * static_cast<std::size_t>(width); };
  return {.hidden = times(m.hidden),
          .branch = m.norm_after ? times(m.hidden) : 0,
          .queries = times(m.heads.heads * m.heads.head_dim),
          .projected = Operations::fused_qkv ? 0 : times(Operations::ProjectQkv::width),
          .attended = times(m.heads.heads * m.heads.head_dim),
          .inner = times(m.mlp.width),
          .partials = times(m.heads.heads) * static_cast<std::size_t>(most_chunks(capacity.positions)) * Attention::partial_values,
          .arrivals = times(m.heads.kv_heads * Attention::slices),
          .logits = times(m.vocab),
          .cache = static_cast<std::size_t>(cache_blocks) * static_cast<std::size_t>(m.heads.kv_heads) * kernels::cache_block_tokens *
                   static_cast<std::size_t>(Attention::Layout::stride)};
}

}  // namespace diecast::cuda
