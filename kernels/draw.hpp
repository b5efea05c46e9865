// Step 6 on the device: the draw, argmax over the kept ids of z/T + G(seed, choice, step, id). Top-k keeps the k first in rank (larger logit first, among
// equals the lowest id), top-p the fewest first in rank whose mass reaches p of what top-k kept, min-p those that are likely enough beside the best. Nothing is
// sorted: where a cut falls is found by adding up whole numbers (rank_cut.hpp), whose sums know no order; the argmax needs none. Equal logits give the ids of the host's sampler (sample/filters.hpp has the same masses). A block takes a row.
#pragma once

#include <cstdint>

#include <diecast/kernels/context.hpp>
#include <diecast/kernels/head.hpp>
#include <diecast/kernels/philox.hpp>
#include <diecast/kernels/rank_cut.hpp>
#include <diecast/kernels/shapes.hpp>
#include <diecast/kernels/token_rows.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

struct Drawing {  // of one row
  std::uint64_t seed;
  std::uint32_t choice;
  std::uint32_t step;
  double temperature;         // 0: the best id
  double filter_temperature;  // of the masses that top-p and min-p look at
  double top_p;               // 1: all are kept
  double least;               // ln of min-p; minus infinity: all are kept
  std::int32_t top_k;         // 0: all are kept
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
    RankCutShared<threads> cut;
    double scores[warps_of(threads)];
    std::int32_t ids[warps_of(threads)];
  };

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared& shared, std::uint32_t steps_before = 0) {
    const int asked = asked_count(ctx, p.rows);
    for (int row = ctx.block(); row < asked; row += ctx.blocks()) one_row(ctx, p, shared, row, steps_before);
  }

 private:
  static constexpr int warps = warps_of(threads);
  static constexpr int ids_at_once = 4;  // that share a block of Philox

  template <ExecutionContext C>
  DIECAST_DEVICE static void one_row(C& ctx, const Params& p, Shared& shared, int row, std::uint32_t steps_before) {
    const std::uint64_t best = ctx.load(p.best, row);
    const std::int64_t logits = static_cast<std::int64_t>(row) * vocab.value;
    const double temperature = ctx.load(&p.drawings[row].temperature, 0);
    if (!best_is_drawable(best) || temperature == 0) {
      if (ctx.thread() == 0) ctx.store(p.ids, row, best_or_none(best));
      return;
    }
    const int top_k = ctx.load(&p.drawings[row].top_k, 0);
    const double filter_temperature = ctx.load(&p.drawings[row].filter_temperature, 0), top_p = ctx.load(&p.drawings[row].top_p, 0),
                 least = ctx.load(&p.drawings[row].least, 0), max = static_cast<double>(ctx.load(p.logits, logits + best_id(best)));
    const int drawable = p.drawable < vocab.value ? p.drawable : vocab.value;
    const auto logit_of = [&](int id) { return ctx.load(p.logits, logits + id); };
    const auto relative = [&](float logit) { return (static_cast<double>(logit) - max) / filter_temperature; };
    std::uint64_t last_kept = 0;
    if (top_k > 0 && top_k < drawable) {
      const auto one = [](float) { return std::uint64_t{1}; };
      const auto enough = [&](std::uint64_t kept) { return kept >= static_cast<std::uint64_t>(top_k); };
      last_kept = last_in_rank<true>(ctx, shared.cut, drawable, 0, logit_of, one, enough);
    }
    if (top_p < 1) {
      const auto mass_of = [&](float logit) { return mass(relative(logit)); };
      std::uint64_t total = 0;
      for (int id = ctx.thread(); id < drawable; id += threads)
        if (const float logit = logit_of(id); best_key(logit, id) >= last_kept) total += mass_of(logit);
      const double wanted = top_p * static_cast<double>(ctx.block_scan(total, shared.cut.scratch).all);
      const auto enough = [&](std::uint64_t kept) { return kept > 0 && !(static_cast<double>(kept) < wanted); };
      last_kept = last_in_rank<false>(ctx, shared.cut, drawable, last_kept, logit_of, mass_of, enough);
    }
    const std::uint64_t seed = ctx.load(&p.drawings[row].seed, 0);
    const std::uint32_t choice = ctx.load(&p.drawings[row].choice, 0), step = ctx.load(&p.drawings[row].step, 0) + steps_before;

    double score = -__builtin_huge_val();
    std::int32_t drawn = best_id(best);
    for (int begin = ctx.thread() * ids_at_once; begin < drawable; begin += threads * ids_at_once) {
      const Philox bits = philox4x32({{static_cast<std::uint32_t>(begin / ids_at_once), step, choice, 0}}, static_cast<std::uint32_t>(seed),
                                     static_cast<std::uint32_t>(seed >> 32));
      DIECAST_UNROLL
      for (int i = 0; i < ids_at_once; ++i) {
        const int id = begin + i;
        if (id >= drawable) break;
        const float logit = logit_of(id);
        if (best_key(logit, id) < last_kept || logit == -__builtin_huge_valf() || relative(logit) < least) continue;
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
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
