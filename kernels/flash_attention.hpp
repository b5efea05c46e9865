// Attention of a prompt on tensor cores: a block keeps a tile of query vectors (the heads that share a K/V head, of as many token rows as there is room for)
// and walks over tiles of keys; scores stay in registers, and the softmax goes along with the walk: greatest score, sum and weighted values so far
// (FlashAttention-2, Dao 2023). While a tile of K and V is multiplied, the next one is on its way into the other half of shared memory.
// Tiles of keys are counted from position 0, and a tile of which a query sees nothing leaves its bits alone: a row's bits do not depend on batch, pieces or grid.
#pragma once

#include <cstdint>
#include <type_traits>

#include <diecast/kernels/attention.hpp>
#include <diecast/kernels/context.hpp>
#include <diecast/kernels/paged_cache.hpp>
#include <diecast/kernels/shapes.hpp>
#include <diecast/kernels/tile_product.hpp>
#include <diecast/kernels/token_rows.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

inline constexpr int most_flash_dim = 256;  // a larger head's sums would not stay in registers

// Products take the elements of the cache as they are, and queries and weights rounded to the same; where the cache has floats, all become Rounded.
template <HeadShape shape, class CacheElement, class Rounded, Team team>
struct FlashAttention {
  static_assert(shape.head_dim <= most_flash_dim, "heads of more than 256 values take their prompts through the kernel for single tokens");
  static constexpr int threads = team.threads;
  using Params = typename Attention<shape, CacheElement, team>::Params;  // rows of a sequence stand together, positions ascending
  using Layout = CacheLayout<shape.kv_heads, shape.head_dim, CacheElement>;
  using Element = std::conditional_t<sizeof(CacheElement) == 2, CacheElement, Rounded>;

  static constexpr int warps = threads / warp_lanes;
  static constexpr int vectors = 16 * warps;  // queries of a tile: a row of tokens has one for each head
  static constexpr int group = shape.group();
  static constexpr int slices = (group + vectors - 1) / vectors;  // of a group that is too large for one tile
  static constexpr int heads = (group + slices - 1) / slices;     // of a slice
  static constexpr int token_rows = vectors / heads;              // of a tile
  static constexpr int steps = (shape.head_dim + 15) / 16;        // of a product over a head's values
  static constexpr int keys_at_once = steps <= 8 ? 64 : 32;       // of a tile
  static constexpr int stride = 16 * steps + 8;                   // eight rows begin in eight different groups of four banks
  static constexpr bool keeps_queries = steps <= 8;               // in registers; else they are read from shared memory each time
  static constexpr int parts = shape.kv_heads * slices;

  struct Shared {
    alignas(16) Element q[vectors][stride];
    alignas(16) Element keys[2][keys_at_once][stride];
    alignas(16) Element values[2][keys_at_once][stride];
  };

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared& shared) {
    const int rows = row_count(ctx, p.rows), tiles = (rows + token_rows - 1) / token_rows;
    int half = 0;  // of shared memory, for the next tile of keys
    for (int item = ctx.block(); item < tiles * parts; item += ctx.blocks()) {
      const int part = item % parts, slice = part % slices, first_row = (tiles - 1 - item / parts) * token_rows;  // the longest first
      const int head = part / slices * group + slice * heads;
      one_tile(ctx, p, shared, half,
               {first_row, rows - first_row < token_rows ? rows - first_row : token_rows, part / slices, head,
                group - slice * heads < heads ? group - slice * heads : heads});
    }
  }

 private:
  static constexpr float nothing = -__builtin_huge_valf();
  static constexpr int pieces = 2 * steps,
                       cache_pieces = (Layout::stride + 7) / 8;  // of eight values in a head: in a tile, and in the cache

  struct Work {
    int first_row, row_count, kv_head, first_head, heads_here;
  };
  // Two of the queries are a lane's, as in a fragment of 16 rows: lane / 4, and eight further on.
  struct Query {
    int row, head;  // of the forward, of the model
    bool there;
    int from, to;         // positions that it sees of the present sequence; from > to: none
    float greatest, sum;  // of the scores so far, in units of which 2 to the power is taken; the sum of this lane's columns
  };
  struct State {
    Query of[2];
    FragmentA<Element> q[keeps_queries ? steps : 1];
    FragmentC<float> out[2 * steps];
  };

  template <ExecutionContext C>
  DIECAST_DEVICE static void one_tile(C& ctx, const Params& p, Shared& shared, int& half, const Work& work) {
    load_queries(ctx, p, shared, work);
    State state{};
    DIECAST_UNROLL
    for (int i = 0; i < 2; ++i) {
      const int vector = 16 * ctx.warp() + ctx.lane() / 4 + 8 * i, row = vector / heads, head = vector % heads;
      state.of[i] = {work.first_row + row, work.first_head + head, row < work.row_count && head < work.heads_here, 1, 0, nothing, 0.0f};
    }
    if constexpr (keeps_queries) {
      DIECAST_UNROLL
      for (int step = 0; step < steps; ++step) state.q[step] = query_fragment(ctx, shared, step);
    }

    const int end = work.first_row + work.row_count;
    for (int begin = work.first_row; begin < end;) {
      const int sequence = ctx.load(p.rows.sequences, begin), run_end = end_of_run(ctx, p, sequence, begin, end);
      DIECAST_UNROLL
      for (int i = 0; i < 2; ++i) {
        Query& vector = state.of[i];
        const bool of_run = vector.there && vector.row >= begin && vector.row < run_end;
        vector.to = of_run ? ctx.load(p.rows.positions, vector.row) : 0;
        vector.from = of_run ? first_seen(p, vector.to) : 1;
      }
      walk(ctx, p, shared, half, state, work.kv_head, sequence, first_seen(p, ctx.load(p.rows.positions, begin)),
           ctx.load(p.rows.positions, run_end - 1));
      begin = run_end;
    }
    finish(ctx, p, state);
  }

  DIECAST_DEVICE static int first_seen(const Params& p, int position) {
    return p.window > 0 && position >= p.window ? position + 1 - p.window : 0;
  }

  // Rows from `begin` on that are of one sequence.
  template <ExecutionContext C>
  DIECAST_DEVICE static int end_of_run(C& ctx, const Params& p, int sequence, int begin, int end) {
    for (int base = begin;; base += warp_lanes) {
      const int row = base + ctx.lane();
      const std::uint32_t others = ctx.ballot(row >= end || ctx.load(p.rows.sequences, row) != sequence);
      if (others != 0) return base + ctx.lowest_bit(others);
    }
  }

  // A warp's own sixteen queries.
  template <ExecutionContext C>
  DIECAST_DEVICE static void load_queries(C& ctx, const Params& p, Shared& shared, const Work& work) {
    ctx.sync_warp();  // nobody reads the tile before
    for (int item = ctx.lane(); item < 16 * 8 * steps; item += warp_lanes) {
      const int vector = 16 * ctx.warp() + item / (8 * steps), pair = item % (8 * steps), row = vector / heads, head = vector % heads;
      Vector<float, 2> x{};
      if (row < work.row_count && head < work.heads_here) {
        const std::int64_t at =
            (static_cast<std::int64_t>(work.first_row + row) * shape.heads + work.first_head + head) * shape.head_dim + 2 * pair;
        if constexpr (shape.head_dim % 2 == 0) {
          if (2 * pair < shape.head_dim) x = ctx.load(as_vectors<2>(p.q), at / 2);
        } else {
          if (2 * pair < shape.head_dim) x.at[0] = ctx.load(p.q, at);
          if (2 * pair + 1 < shape.head_dim) x.at[1] = ctx.load(p.q, at + 1);
        }
      }
      ctx.store(reinterpret_cast<std::uint32_t*>(&shared.q[vector][0]), pair, packed_pair<Element>(ctx, x.at[0], x.at[1]));
    }
    ctx.sync_warp();
  }
  template <ExecutionContext C>
  DIECAST_DEVICE static FragmentA<Element> query_fragment(C& ctx, Shared& shared, int step) {
    const FourMatrices m =
        ctx.load_matrices(&shared.q[0][0], (16 * ctx.warp() + ctx.lane() % 16) * stride + 16 * step + ctx.lane() / 16 * 8);
    return {{m.at[0], m.at[1], m.at[2], m.at[3]}};
  }

  // All queries of one sequence past the keys that the first of them to the last of them see.
  template <ExecutionContext C>
  DIECAST_DEVICE static void walk(C& ctx, const Params& p, Shared& shared, int& half, State& state, int kv_head, int sequence, int from,
                                  int to) {
    request(ctx, p, shared, half, kv_head, sequence, from / keys_at_once, from, to);
    for (int tile = from / keys_at_once; tile <= to / keys_at_once; ++tile) {
      ctx.wait_copies(pending<0>);
      ctx.barrier();  // everybody's copies have landed, and nobody reads the other half any more
      if (tile < to / keys_at_once) request(ctx, p, shared, half ^ 1, kv_head, sequence, tile + 1, from, to);
      const int begin = tile * keys_at_once;
      const auto sees = [&](const Query& vector) {
        return vector.from < begin + keys_at_once && vector.to >= begin && vector.from <= vector.to;
      };
      if (ctx.any(sees(state.of[0]) || sees(state.of[1]))) add_tile(ctx, p, shared, half, state, begin);
      half ^= 1;
    }
  }

  // Asks for a tile of K and V. Positions outside of [from, to] are zeros.
  template <ExecutionContext C>
  DIECAST_DEVICE static void request(C& ctx, const Params& p, Shared& shared, int half, int kv_head, int sequence, int tile, int from,
                                     int to) {
    for (int item = ctx.thread(); item < keys_at_once * pieces; item += threads) {
      const int key = item / pieces, piece = item % pieces, position = tile * keys_at_once + key;
      const bool there = position >= from && position <= to && piece < cache_pieces;
      const std::int64_t at = there ? Layout::offset(p.table.slot(ctx, sequence, position), kv_head) + 8 * piece : 0;
      copy_piece(ctx, &shared.keys[half][key][0], piece, p.cache.keys, at, there);
      copy_piece(ctx, &shared.values[half][key][0], piece, p.cache.values, at, there);
    }
    ctx.commit_copies();
  }
  template <ExecutionContext C>
  DIECAST_DEVICE static void copy_piece(C& ctx, Element* to, int piece, const CacheElement* from, std::int64_t at, bool there) {
    if constexpr (sizeof(CacheElement) == 2) {
      ctx.copy_async(as_vectors<8>(to), piece, as_vectors<8>(from), at / 8, there);
    } else {  // floats are rounded on the way, so they come at once
      Words words{};
      if (there) {
        DIECAST_UNROLL
        for (int quad = 0; quad < 2; ++quad) {
          if (8 * piece + 4 * quad >= Layout::stride) break;
          const auto x = ctx.load(as_vectors<4>(from), at / 4 + quad);
          words.at[2 * quad] = packed_pair<Element>(ctx, x.at[0], x.at[1]);
          words.at[2 * quad + 1] = packed_pair<Element>(ctx, x.at[2], x.at[3]);
        }
      }
      ctx.store(reinterpret_cast<Words*>(to), piece, words);
    }
  }

  template <ExecutionContext C>
  DIECAST_DEVICE static void add_tile(C& ctx, const Params& p, Shared& shared, int half, State& state, int begin) {
    constexpr int sixteens = keys_at_once / 16;
    const int lane = ctx.lane();
    FragmentC<float> scores[2 * sixteens]{};
    DIECAST_UNROLL
    for (int step = 0; step < steps; ++step) {
      const FragmentA<Element> q = keeps_queries ? state.q[keeps_queries ? step : 0] : query_fragment(ctx, shared, step);
      DIECAST_UNROLL
      for (int sixteen = 0; sixteen < sixteens; ++sixteen) {
        const int key = 16 * sixteen + lane % 8 + lane / 16 * 8;
        const FourMatrices k = ctx.load_matrices(&shared.keys[half][0][0], key * stride + 16 * step + lane / 8 % 2 * 8);
        scores[2 * sixteen] = ctx.multiply_add(q, FragmentB<Element>{{k.at[0], k.at[1]}}, scores[2 * sixteen]);
        scores[2 * sixteen + 1] = ctx.multiply_add(q, FragmentB<Element>{{k.at[2], k.at[3]}}, scores[2 * sixteen + 1]);
      }
    }
    soften(ctx, p, state, scores, begin);
    DIECAST_UNROLL
    for (int sixteen = 0; sixteen < sixteens; ++sixteen) {  // what a product gives lies as the next one's left side is read
      const auto pair = [&](int of, int i) { return packed_pair<Element>(ctx, scores[of].at[2 * i], scores[of].at[2 * i + 1]); };
      const FragmentA<Element> weights{{pair(2 * sixteen, 0), pair(2 * sixteen, 1), pair(2 * sixteen + 1, 0), pair(2 * sixteen + 1, 1)}};
      DIECAST_UNROLL
      for (int step = 0; step < steps; ++step) {
        const FourMatrices v =
            ctx.load_matrices_transposed(&shared.values[half][0][0], (16 * sixteen + lane % 16) * stride + 16 * step + lane / 16 * 8);
        state.out[2 * step] = ctx.multiply_add(weights, FragmentB<Element>{{v.at[0], v.at[1]}}, state.out[2 * step]);
        state.out[2 * step + 1] = ctx.multiply_add(weights, FragmentB<Element>{{v.at[2], v.at[3]}}, state.out[2 * step + 1]);
      }
    }
  }

  // Scores to weights 2^(score - greatest so far); what was added up before under a lower greatest score is brought to the new one.
  template <int tiles, ExecutionContext C>
  DIECAST_DEVICE static void soften(C& ctx, const Params& p, State& state, FragmentC<float> (&scores)[tiles], int begin) {
    constexpr float log2_e = 1.44269504f;
    DIECAST_UNROLL
    for (int i = 0; i < 2; ++i) {
      Query& vector = state.of[i];
      float greatest = vector.greatest;
      DIECAST_UNROLL
      for (int tile = 0; tile < tiles; ++tile) DIECAST_UNROLL
      for (int e = 0; e < 2; ++e) {
        float& score = scores[tile].at[2 * i + e];
        const int position = begin + 8 * tile + 2 * (ctx.lane() % 4) + e;
        score *= p.scale;
        if (p.soft_cap != 0.0f) score = p.soft_cap * ctx.tanh(ctx.divide(score, p.soft_cap));
        score = position >= vector.from && position <= vector.to ? score * log2_e : nothing;
        greatest = score > greatest ? score : greatest;
      }
      for (int with = 1; with <= 2; with *= 2) {  // the four lanes that share a row
        const float other = ctx.shuffle_xor(greatest, with);
        greatest = other > greatest ? other : greatest;
      }
      const float base = greatest == nothing ? 0.0f : greatest;  // nothing - nothing is no number
      const float factor = ctx.exp2(vector.greatest - base);
      float sum = 0;
      DIECAST_UNROLL
      for (int tile = 0; tile < tiles; ++tile) DIECAST_UNROLL
      for (int e = 0; e < 2; ++e) {
        float& score = scores[tile].at[2 * i + e];
        score = ctx.exp2(score - base);
        sum += score;
      }
      vector.greatest = greatest;
      vector.sum = ctx.fma(vector.sum, factor, sum);
      DIECAST_UNROLL
      for (int tile = 0; tile < 2 * steps; ++tile) DIECAST_UNROLL
      for (int e = 0; e < 2; ++e) state.out[tile].at[2 * i + e] *= factor;
    }
  }

  template <ExecutionContext C>
  DIECAST_DEVICE static void finish(C& ctx, const Params& p, const State& state) {
    DIECAST_UNROLL
    for (int i = 0; i < 2; ++i) {
      const Query& vector = state.of[i];
      float sum = vector.sum;
      for (int with = 1; with <= 2; with *= 2) sum += ctx.shuffle_xor(sum, with);
      if (!vector.there) continue;
      const std::int64_t at = (static_cast<std::int64_t>(vector.row) * shape.heads + vector.head) * shape.head_dim;
      DIECAST_UNROLL
      for (int tile = 0; tile < 2 * steps; ++tile) {
        const int column = 8 * tile + 2 * (ctx.lane() % 4);
        const float first = ctx.divide(state.out[tile].at[2 * i], sum), second = ctx.divide(state.out[tile].at[2 * i + 1], sum);
        if constexpr (shape.head_dim % 2 == 0) {
          if (column < shape.head_dim) ctx.store(as_vectors<2>(p.out), (at + column) / 2, Vector<float, 2>{{first, second}});
        } else {
          if (column < shape.head_dim) ctx.store(p.out, at + column, first);
          if (column + 1 < shape.head_dim) ctx.store(p.out, at + column + 1, second);
        }
      }
    }
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
