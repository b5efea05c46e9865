// Decode attention over the paged cache. The query heads that share a K/V head are one block's work, so K and V are read once; a long context
// is split over fixed chunks of logical positions, each a block's work with a softmax of its own (its maximum, its sum), and the block that
// comes last puts a row's chunks together in ascending order (the associative merge of Flash-Decoding, Dao et al. 2023). Chunks
// are counted from position 0, never from slots, batches or blocks, so the bits depend on the position and the values alone.
#pragma once

#include <cstdint>

#include <diecast/kernels/context.hpp>
#include <diecast/kernels/paged_cache.hpp>
#include <diecast/kernels/shapes.hpp>
#include <diecast/kernels/token_rows.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

inline constexpr int attention_chunk = 64;  // positions
inline constexpr int most_group_heads = 8;  // query heads that a block takes at once

template <HeadShape shape, class CacheElement, Team team>
struct Attention {
  static_assert(Checked<shape>::ok);
  static constexpr int threads = team.threads;
  using Layout = CacheLayout<shape.kv_heads, shape.head_dim, CacheElement>;

  static constexpr int group = shape.group();
  static constexpr int slices = (group + most_group_heads - 1) / most_group_heads;  // of a group that is too large for one block
  static constexpr int heads = (group + slices - 1) / slices;                       // of a slice
  static constexpr int partial_values =
      shape.head_dim + 2;  // of a chunk and head: the weighted sum, the greatest score, the sum of weights

  struct Params {
    TokenRows rows;
    const float* q;  // [row, heads, head_dim]
    PagedTable table;
    Cache<CacheElement> cache;
    float scale;              // of q . k
    float soft_cap;           // scores s become cap * tanh(s / cap); 0: they do not
    int window;               // how many positions a row sees, its own included; 0: all
    int most_chunks;          // room in partials
    float* partials;          // [row, heads, most_chunks, partial_values]
    std::uint32_t* arrivals;  // [row, kv_heads, slices], 0 between launches
    float* out;               // [row, heads, head_dim]
  };
  struct Shared {
    alignas(16) float q[heads][Layout::stride];
    float scores[heads][attention_chunk];  // then weights
    float sums[threads / warp_lanes][heads][Layout::stride];
    float greatest[heads], total[heads];
    std::uint32_t last;
  };

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared& shared) {
    const int rows = row_count(ctx, p.rows);
    int chunks = 0;  // of the longest row
    for (int row = 0; row < rows; ++row) {
      const int last = ctx.load(p.rows.positions, row) / attention_chunk;
      chunks = chunks > last + 1 ? chunks : last + 1;
    }
    const std::int64_t items = static_cast<std::int64_t>(rows) * shape.kv_heads * slices * chunks;
    for (std::int64_t item = ctx.block(); item < items; item += ctx.blocks()) {
      const auto chunk = static_cast<int>(item % chunks);
      const auto part = static_cast<int>(item / chunks);  // row, K/V head, slice
      const Work work = work_of(ctx, p, part);
      if (chunk >= work.first_chunk && chunk <= work.last_chunk) one_chunk(ctx, p, shared, work, part, chunk);
    }
  }

 private:
  static constexpr int warps = threads / warp_lanes;
  static constexpr int lane_values = Layout::lane_values;
  static constexpr int pieces = Layout::stride / lane_values;  // of 16 bytes in a head
  static constexpr int least_lanes(int wanted) { return wanted <= 1 ? 1 : 2 * least_lanes((wanted + 1) / 2); }
  static constexpr int lanes = least_lanes(pieces) < warp_lanes ? least_lanes(pieces) : warp_lanes;  // that share a position
  static constexpr int steps = (pieces + lanes - 1) / lanes;
  static constexpr int at_once = warp_lanes / lanes;  // positions that a warp takes at once
  using Piece = Vector<CacheElement, lane_values>;

  struct Work {
    int row, kv_head, first_head, heads_here, sequence;
    int first, end;               // positions that the row sees
    int first_chunk, last_chunk;  // that hold them
  };

  template <ExecutionContext C>
  DIECAST_DEVICE static Work work_of(C& ctx, const Params& p, int part) {
    Work work{};
    work.row = part / (shape.kv_heads * slices);
    work.kv_head = part / slices % shape.kv_heads;
    const int slice = part % slices;
    work.first_head = work.kv_head * group + slice * heads;
    work.heads_here = group - slice * heads < heads ? group - slice * heads : heads;
    work.sequence = ctx.load(p.rows.sequences, work.row);
    work.end = ctx.load(p.rows.positions, work.row) + 1;
    work.first = p.window > 0 && work.end > p.window ? work.end - p.window : 0;
    work.first_chunk = work.first / attention_chunk;
    work.last_chunk = (work.end - 1) / attention_chunk;
    return work;
  }

  template <ExecutionContext C>
  DIECAST_DEVICE static void one_chunk(C& ctx, const Params& p, Shared& shared, const Work& work, int part, int chunk) {
    const std::int64_t of_heads = (static_cast<std::int64_t>(work.row) * shape.heads + work.first_head) * shape.head_dim;
    for (int i = ctx.thread(); i < heads * Layout::stride; i += threads) {
      const int head = i / Layout::stride, at = i % Layout::stride;
      const bool there = head < work.heads_here && at < shape.head_dim;
      ctx.store(&shared.q[0][0], i, there ? ctx.load(p.q, of_heads + head * shape.head_dim + at) : 0.0f);
    }
    ctx.barrier();
    const int begin = chunk * attention_chunk;
    const int from = work.first > begin ? work.first - begin : 0;  // within the chunk
    const int to = work.end - begin < attention_chunk ? work.end - begin : attention_chunk;
    scores(ctx, p, shared, work, begin, from, to);
    ctx.barrier();
    soften(ctx, shared, work, from, to);
    ctx.barrier();
    weigh(ctx, p, shared, work, begin, from, to);
    ctx.barrier();

    const bool alone = work.first_chunk == work.last_chunk;
    const std::int64_t room = static_cast<std::int64_t>(p.most_chunks) * partial_values;
    const std::int64_t partial =
        (static_cast<std::int64_t>(work.row) * shape.heads + work.first_head) * room + static_cast<std::int64_t>(chunk) * partial_values;
    for (int i = ctx.thread(); i < work.heads_here * shape.head_dim; i += threads) {
      const int head = i / shape.head_dim, at = i % shape.head_dim;
      float sum = 0;
      for (int warp = 0; warp < warps; ++warp) sum += ctx.load(shared.sums[warp][head], at);
      if (alone)
        ctx.store(p.out, of_heads + i, ctx.divide(sum, ctx.load(shared.total, head)));
      else
        ctx.store(p.partials, partial + head * room + at, sum);
    }
    if (!alone) {
      if (ctx.thread() < work.heads_here) {
        ctx.store(p.partials, partial + ctx.thread() * room + shape.head_dim, ctx.load(shared.greatest, ctx.thread()));
        ctx.store(p.partials, partial + ctx.thread() * room + shape.head_dim + 1, ctx.load(shared.total, ctx.thread()));
      }
      merge_if_last(ctx, p, shared, work, part);
    }
    ctx.barrier();  // the next chunk comes into the same place
  }

  // Scores, in units of which 2 to the power is taken. A few lanes share a position: each has one piece of K, or every so many.
  template <ExecutionContext C>
  DIECAST_DEVICE static void scores(C& ctx, const Params& p, Shared& shared, const Work& work, int begin, int from, int to) {
    constexpr float log2_e = 1.44269504f;
    for (int base = ctx.warp() * at_once; base < to; base += warps * at_once) {
      const int i = base + ctx.lane() / lanes, lane = ctx.lane() % lanes;
      const bool seen = i >= from && i < to;
      float sum[heads]{};
      if (seen) {
        const std::int64_t at = Layout::offset(p.table.slot(ctx, work.sequence, begin + i), work.kv_head) / lane_values;
        DIECAST_UNROLL
        for (int step = 0; step < steps; ++step) {
          const int piece = step * lanes + lane;
          if (piece >= pieces) break;
          const Piece k = ctx.load(as_vectors<lane_values>(p.cache.keys), at + piece);
          DIECAST_UNROLL
          for (int head = 0; head < heads; ++head) DIECAST_UNROLL
          for (int quad = 0; quad < lane_values / 4; ++quad) {
            const auto q = ctx.load(as_vectors<4>(shared.q[head]), piece * (lane_values / 4) + quad);
            DIECAST_UNROLL
            for (int e = 0; e < 4; ++e) sum[head] = ctx.fma(q.at[e], ctx.widen(k.at[4 * quad + e]), sum[head]);
          }
        }
      }
      DIECAST_UNROLL
      for (int head = 0; head < heads; ++head) {
        for (int with = lanes / 2; with > 0; with /= 2) sum[head] += ctx.shuffle_xor(sum[head], with);
        if (seen && lane == head % lanes) {
          float score = sum[head] * p.scale;
          if (p.soft_cap != 0.0f) score = p.soft_cap * ctx.tanh(ctx.divide(score, p.soft_cap));
          ctx.store(shared.scores[head], i, score * log2_e);
        }
      }
    }
  }

  // Scores to weights 2^(score - greatest); a warp takes a head.
  template <ExecutionContext C>
  DIECAST_DEVICE static void soften(C& ctx, Shared& shared, const Work& work, int from, int to) {
    for (int head = ctx.warp(); head < work.heads_here; head += warps) {
      float greatest = -__builtin_huge_valf(), total = 0;
      for (int i = ctx.lane(); i < attention_chunk; i += warp_lanes)
        if (i >= from && i < to) {
          const float score = ctx.load(shared.scores[head], i);
          greatest = score > greatest ? score : greatest;
        }
      greatest = ctx.warp_max(greatest);
      for (int i = ctx.lane(); i < attention_chunk; i += warp_lanes)
        if (i >= from && i < to) {
          const float weight = ctx.exp2(ctx.load(shared.scores[head], i) - greatest);
          ctx.store(shared.scores[head], i, weight);
          total += weight;
        }
      total = ctx.warp_sum(total);
      if (ctx.lane() == 0) {
        ctx.store(shared.greatest, head, greatest);
        ctx.store(shared.total, head, total);
      }
    }
  }

  // The sum of weighted values, of each warp's positions; those that lanes have side by side are added in the warp.
  template <ExecutionContext C>
  DIECAST_DEVICE static void weigh(C& ctx, const Params& p, Shared& shared, const Work& work, int begin, int from, int to) {
    float sum[heads][steps][lane_values]{};
    const int lane = ctx.lane() % lanes;
    for (int base = ctx.warp() * at_once; base < to; base += warps * at_once) {
      const int i = base + ctx.lane() / lanes;
      if (i < from || i >= to) continue;
      const std::int64_t at = Layout::offset(p.table.slot(ctx, work.sequence, begin + i), work.kv_head) / lane_values;
      float weight[heads];
      DIECAST_UNROLL
      for (int head = 0; head < heads; ++head) weight[head] = head < work.heads_here ? ctx.load(shared.scores[head], i) : 0.0f;
      DIECAST_UNROLL
      for (int step = 0; step < steps; ++step) {
        const int piece = step * lanes + lane;
        if (piece >= pieces) break;
        const Piece v = ctx.load(as_vectors<lane_values>(p.cache.values), at + piece);
        DIECAST_UNROLL
        for (int head = 0; head < heads; ++head) DIECAST_UNROLL
        for (int e = 0; e < lane_values; ++e) sum[head][step][e] = ctx.fma(weight[head], ctx.widen(v.at[e]), sum[head][step][e]);
      }
    }
    DIECAST_UNROLL
    for (int head = 0; head < heads; ++head) DIECAST_UNROLL
    for (int step = 0; step < steps; ++step) DIECAST_UNROLL
    for (int e = 0; e < lane_values; ++e) {
      float all = sum[head][step][e];
      for (int with = warp_lanes / 2; with >= lanes; with /= 2) all += ctx.shuffle_xor(all, with);
      const int piece = step * lanes + lane;
      if (ctx.lane() < lanes && piece < pieces) ctx.store(shared.sums[ctx.warp()][head], piece * lane_values + e, all);
    }
  }

  // Who arrives last has seen what all others wrote before they arrived, and nobody else touches the counter until the next launch.
  template <ExecutionContext C>
  DIECAST_DEVICE static void merge_if_last(C& ctx, const Params& p, Shared& shared, const Work& work, int part) {
    ctx.barrier();  // the block's partials are written
    if (ctx.thread() == 0) {
      const std::uint32_t before = ctx.atomic_add(p.arrivals, part, 1u, Order::acquire_release);
      const bool last = before == static_cast<std::uint32_t>(work.last_chunk - work.first_chunk);
      if (last) ctx.store_relaxed(p.arrivals, part, 0u);
      ctx.store(&shared.last, 0, last ? 1u : 0u);
    }
    ctx.barrier();
    if (ctx.load(&shared.last, 0) == 0u) return;
    const std::int64_t room = static_cast<std::int64_t>(p.most_chunks) * partial_values;
    for (int i = ctx.thread(); i < work.heads_here * shape.head_dim; i += threads) {
      const int head = work.first_head + i / shape.head_dim, at = i % shape.head_dim;
      const std::int64_t base = (static_cast<std::int64_t>(work.row) * shape.heads + head) * room;
      const auto partial = [&](int chunk, int value) {
        return ctx.load(p.partials, base + static_cast<std::int64_t>(chunk) * partial_values + value);
      };
      float greatest = -__builtin_huge_valf();
      for (int chunk = work.first_chunk; chunk <= work.last_chunk; ++chunk) {
        const float of_chunk = partial(chunk, shape.head_dim);
        greatest = of_chunk > greatest ? of_chunk : greatest;
      }
      float sum = 0, total = 0;
      for (int chunk = work.first_chunk; chunk <= work.last_chunk; ++chunk) {
        const float weight = ctx.exp2(partial(chunk, shape.head_dim) - greatest);
        sum = ctx.fma(partial(chunk, at), weight, sum);
        total = ctx.fma(partial(chunk, shape.head_dim + 1), weight, total);
      }
      ctx.store(p.out, (static_cast<std::int64_t>(work.row) * shape.heads + head) * shape.head_dim + at, ctx.divide(sum, total));
    }
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
