// Step 6 on the device: the draw, argmax over the kept ids of z/T + G(seed, choice, step, id), where top-k keeps the k first in rank (larger logit first, among equals the
// lowest id). Nothing is sorted and nothing is summed: the k-th rank is found four bits at a time, by counting, and the argmax needs no order. Equal
// logits give the ids of the host's sampler. A block takes a row.
#pragma once

#include <cstdint>

#include <diecast/kernels/context.hpp>
#include <diecast/kernels/head.hpp>
#include <diecast/kernels/philox.hpp>
#include <diecast/kernels/shapes.hpp>
#include <diecast/kernels/token_rows.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

struct Drawing {  // of one row
  std::uint64_t seed;
  std::uint32_t choice;
  std::uint32_t step;
  double temperature;  // above 0
  std::int32_t top_k;  // 0: all are kept
  std::int32_t unused;
};

template <Vocabulary vocab, Team team>
struct Draw {
  static_assert(vocab.value > 0, "vocab must be positive");
  static constexpr int threads = team.threads;

  struct Params {
    TokenRows rows;
    const float* logits;        // [asked, vocab]
    const std::uint64_t* best;  // [asked] best_key, from the head
    const Drawing* drawings;    // [asked]
    int drawable;               // ids from here on are never drawn
    int* ids;                   // [asked]; -2: there is none, or a logit is no number
  };
  struct Shared {
    std::int32_t counts[warps_of(threads)][16];
    double scores[warps_of(threads)];
    std::int32_t ids[warps_of(threads)];
  };

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared& shared) {
    const int asked = asked_count(ctx, p.rows);
    for (int row = ctx.block(); row < asked; row += ctx.blocks()) one_row(ctx, p, shared, row);
  }

 private:
  static constexpr int warps = warps_of(threads);
  static constexpr int ids_at_once = 4;  // that share a block of Philox

  template <ExecutionContext C>
  DIECAST_DEVICE static void one_row(C& ctx, const Params& p, Shared& shared, int row) {
    const std::uint64_t best = ctx.load(p.best, row);
    const std::int64_t logits = static_cast<std::int64_t>(row) * vocab.value;
    if (!best_is_drawable(best)) {
      if (ctx.thread() == 0) ctx.store(p.ids, row, -2);
      return;
    }
    const int top_k = ctx.load(&p.drawings[row].top_k, 0);
    const int drawable = p.drawable < vocab.value ? p.drawable : vocab.value;
    const std::uint64_t last_kept = top_k > 0 && top_k < drawable ? key_of_rank(ctx, p, shared, logits, drawable, top_k) : 0;
    const std::uint64_t seed = ctx.load(&p.drawings[row].seed, 0);
    const std::uint32_t choice = ctx.load(&p.drawings[row].choice, 0), step = ctx.load(&p.drawings[row].step, 0);
    const double temperature = ctx.load(&p.drawings[row].temperature, 0),
                 max = static_cast<double>(ctx.load(p.logits, logits + best_id(best)));

    double score = -__builtin_huge_val();
    std::int32_t drawn = best_id(best);
    for (int begin = ctx.thread() * ids_at_once; begin < drawable; begin += threads * ids_at_once) {
      const Philox bits = philox4x32({{static_cast<std::uint32_t>(begin / ids_at_once), step, choice, 0}}, static_cast<std::uint32_t>(seed),
                                     static_cast<std::uint32_t>(seed >> 32));
      DIECAST_UNROLL
      for (int i = 0; i < ids_at_once; ++i) {
        const int id = begin + i;
        if (id >= drawable) break;
        const float logit = ctx.load(p.logits, logits + id);
        if (best_key(logit, id) < last_kept || logit == -__builtin_huge_valf()) continue;
        const double one = (static_cast<double>(logit) - max) / temperature + gumbel(bits.at[i]);
        if (one > score) {  // ids ascend: among equals the lowest stays
          score = one;
          drawn = id;
        }
      }
    }
    for (int with = warp_lanes / 2; with > 0; with /= 2) take(score, drawn, ctx.shuffle_xor(score, with), ctx.shuffle_xor(drawn, with));
    if (ctx.lane() == 0) {
      ctx.store(shared.scores, ctx.warp(), score);
      ctx.store(shared.ids, ctx.warp(), drawn);
    }
    ctx.barrier();
    if (ctx.thread() == 0) {
      for (int warp = 1; warp < warps; ++warp) take(score, drawn, ctx.load(shared.scores, warp), ctx.load(shared.ids, warp));
      ctx.store(p.ids, row, drawn);
    }
    ctx.barrier();  // the next row comes into the same place
  }

  DIECAST_DEVICE static void take(double& score, std::int32_t& id, double other, std::int32_t other_id) {
    if (other > score || (other == score && other_id < id)) {
      score = other;
      id = other_id;
    }
  }

  // The best_key that `rank` ids are not below. Keys differ from one another, so there is one. From the highest four bits on: how many of the keys that begin as
  // it does have which next digit. As soon as all of those are wanted, their beginning is enough.
  template <ExecutionContext C>
  DIECAST_DEVICE static std::uint64_t key_of_rank(C& ctx, const Params& p, Shared& shared, std::int64_t logits, int drawable, int rank) {
    std::uint64_t begin = 0;
    std::int32_t wanted = rank;
    for (int shift = 60; shift >= 0; shift -= 4) {
      std::int32_t counts[16]{};
      for (int id = ctx.thread(); id < drawable; id += threads) {
        const std::uint64_t key = best_key(ctx.load(p.logits, logits + id), id);
        if (shift < 60 && key >> (shift + 4) != begin >> (shift + 4)) continue;
        const auto digit = static_cast<int>(key >> shift & 15u);
        DIECAST_UNROLL
        for (int d = 0; d < 16; ++d) counts[d] += digit == d ? 1 : 0;
      }
      DIECAST_UNROLL
      for (int d = 0; d < 16; ++d) {
        const std::int32_t of_warp = ctx.warp_sum(counts[d]);
        if (ctx.lane() == 0) ctx.store(shared.counts[ctx.warp()], d, of_warp);
      }
      ctx.barrier();
      int digit = 15;
      std::int32_t here = 0;
      for (;; --digit) {
        here = 0;
        for (int warp = 0; warp < warps; ++warp) here += ctx.load(shared.counts[warp], digit);
        if (here >= wanted || digit == 0) break;
        wanted -= here;
      }
      ctx.barrier();  // everybody has read before the next digit's counts come
      begin |= static_cast<std::uint64_t>(digit) << shift;
      if (here == wanted) break;
    }
    return begin;
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
