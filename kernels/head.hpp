// Step 5, and greedy sampling with it: final norm + head + bias + divisor + soft cap, and the best id of each row that asks. A warp makes
// the logits of one vocabulary row. The best is kept as one number that orders as (logit, lowest id first) does, so the grid agrees on it by
// atomic maxima alone, in any order, and no second pass over the vocabulary is needed. A NaN is above everything: it is seen, not lost.
#pragma once

#include <bit>
#include <cstdint>

#include <diecast/kernels/context.hpp>
#include <diecast/kernels/row_products.hpp>
#include <diecast/kernels/shapes.hpp>
#include <diecast/kernels/stream.hpp>
#include <diecast/kernels/token_rows.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

// Orders as floats do, both zeros the same; NaN of either sign is the greatest.
DIECAST_HOST_DEVICE constexpr std::uint32_t ordered_bits(float value) {
  if (!(value == value)) return 0xffffffffu;
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value == 0.0f ? 0.0f : value);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}
DIECAST_HOST_DEVICE constexpr std::uint64_t best_key(float logit, int id) {
  return static_cast<std::uint64_t>(ordered_bits(logit)) << 32 | (0xffffffffu - static_cast<std::uint32_t>(id));
}
DIECAST_HOST_DEVICE constexpr int best_id(std::uint64_t key) { return static_cast<int>(0xffffffffu - static_cast<std::uint32_t>(key)); }
// Whether the best logit is a finite number or at least one: neither NaN nor +inf, and not minus infinity alone.
DIECAST_HOST_DEVICE constexpr bool best_is_drawable(std::uint64_t key) {
  return key >> 32 < ordered_bits(__builtin_huge_valf()) && key >> 32 > ordered_bits(-__builtin_huge_valf());
}
DIECAST_HOST_DEVICE constexpr int best_or_none(std::uint64_t key) { return best_is_drawable(key) ? best_id(key) : -2; }

struct Vocabulary {
  int value;
};

template <Hidden hidden, Vocabulary vocab, Prologue prologue, FormSet set, Team team>
struct Head {
  static_assert(hidden.value > 0 && vocab.value > 0, "hidden and vocab must be positive");
  static constexpr int threads = team.threads;

  struct Params {
    TokenRows rows;
    Stream stream;
    Linear head;          // [vocab, hidden], its own or the embedding
    float divisor;        // logits are divided by it; 1: they are not
    float soft_cap;       // logits z become cap * tanh(z / cap); 0: they do not
    int drawable;         // ids from here on are never the best
    float* logits;        // [asked, vocab]
    std::uint64_t* best;  // [asked] best_key; 0 before
  };
  using Products = RowProducts<hidden.value, set, team, 1>;
  using Shared = typename Products::Shared;
  static constexpr int items = vocab.value;
  DIECAST_DEVICE static WeightRow row(const Params& p, int item, int) { return {p.head, item}; }

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared& shared, Requested weights = Requested::no) {
    const auto fill = [&](int t, int asked) {
      fill_from_stream<prologue, threads>(ctx, shared.x, t, ctx.load(p.rows.asked, asked), p.stream, shared.sum);
    };
    Products::template each_tile<Head>(ctx, p, shared, weights, asked_count(ctx, p.rows), fill, [&](int begin, int count) {
      std::uint64_t best = 0;  // of token `lane`
      Products::template each_item<Head>(ctx, p, shared, count, [&](int item, const auto& sums) {
        if (ctx.lane() >= count) return;
        float logit = of_lane(sums[0], ctx.lane());
        if (p.divisor != 1.0f) logit = ctx.divide(logit, p.divisor);
        if (p.soft_cap != 0.0f) logit = p.soft_cap * ctx.tanh(ctx.divide(logit, p.soft_cap));
        ctx.store(p.logits, static_cast<std::int64_t>(begin + ctx.lane()) * vocab.value + item, logit);
        const std::uint64_t key = best_key(logit, item);
        if (item < p.drawable && key > best) best = key;
      });
      if (ctx.lane() < count && best != 0) ctx.atomic_max(p.best, begin + ctx.lane(), best);
    });
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
