// Where a cut falls among ids in order of rank (larger logit first, among equals the lowest id), without sorting them: a radix select. Ids have weights, whole
// numbers whose sums know no order: 1 each where they are counted, else their mass. From the highest four bits of the rank on, a block adds up what all ids weigh
// that begin as the cut does, for each next digit. When few are left they come into a list, so the vocabulary is read only a few times.
#pragma once

#include <cstdint>

#include <diecast/kernels/context.hpp>
#include <diecast/kernels/head.hpp>
#include <diecast/kernels/shapes.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

inline constexpr int most_listed = 512;  // ids

template <int threads>
struct RankCutShared {
  static constexpr int warps = warps_of(threads);
  std::uint64_t digits[warps][17];  // what weighs each of sixteen, and how many ids there are
  std::int32_t listed[most_listed];
  BlockScratch<threads> scratch;
};

// The best_key of the last id that is kept: the first at which the weights of all ids up to it are `enough`, of those whose keys are at least `least_key`. Keys
// differ from one another, so there is one; a key below it and above the next one's does as well: a beginning that one id alone has, or one all of whose ids are
// wanted, where each counts. All threads of the block take part and get the same.
template <bool each_counts, int threads, ExecutionContext C, class Logit, class Weight, class Enough>
DIECAST_DEVICE std::uint64_t last_in_rank(C& ctx, RankCutShared<threads>& shared, int drawable, std::uint64_t least_key,
                                          const Logit& logit_of, const Weight& weight_of, const Enough& enough) {
  std::uint64_t begin = 0, kept = 0, members = ~std::uint64_t{0};
  int listed = -1;  // below 0: there is no list
  for (int shift = 60; shift >= 0; shift -= 4) {
    const auto each = [&](const auto& take) {  // id that begins so
      const int count = listed < 0 ? drawable : listed;
      for (int i = ctx.thread(); i < count; i += threads) {
        const int id = listed < 0 ? i : ctx.load(shared.listed, i);
        const float logit = logit_of(id);
        const std::uint64_t key = best_key(logit, id);
        if (key >= least_key && (shift == 60 || key >> (shift + 4) == begin >> (shift + 4))) take(id, logit, key);
      }
    };
    if (listed < 0 && members <= most_listed) {
      std::uint64_t own = 0;
      each([&](int, float, std::uint64_t) { ++own; });
      const BlockScan place = ctx.block_scan(own, shared.scratch);
      auto next = static_cast<std::int64_t>(place.before);
      each([&](int id, float, std::uint64_t) { ctx.store(shared.listed, next++, id); });
      listed = static_cast<int>(place.all);
      ctx.barrier();
    }
    std::uint64_t weights[16]{}, own = 0;
    each([&](int, float logit, std::uint64_t key) {
      const auto digit = static_cast<int>(key >> shift & 15u);
      const std::uint64_t weight = weight_of(logit);
      ++own;
      DIECAST_UNROLL
      for (int d = 0; d < 16; ++d) weights[d] += digit == d ? weight : 0;
    });
    const auto put = [&](int place, std::uint64_t of_warp) {
      for (int with = warp_lanes / 2; with > 0; with /= 2) of_warp += ctx.shuffle_xor(of_warp, with);
      if (ctx.lane() == 0) ctx.store(shared.digits[ctx.warp()], place, of_warp);
    };
    DIECAST_UNROLL
    for (int d = 0; d < 16; ++d) put(d, weights[d]);
    put(16, own);
    ctx.barrier();
    const auto of_block = [&](int place) {
      std::uint64_t sum = 0;
      for (int warp = 0; warp < RankCutShared<threads>::warps; ++warp) sum += ctx.load(shared.digits[warp], place);
      return sum;
    };
    int digit = 15;
    std::uint64_t here = of_block(15);
    for (; digit > 0 && !enough(kept + here); here = of_block(--digit)) kept += here;
    members = of_block(16);
    ctx.barrier();  // everybody has read before the next digit's weights come
    if (members == 1) break;
    begin |= static_cast<std::uint64_t>(digit) << shift;
    if (each_counts && !enough(kept + here - 1)) break;
  }
  return begin > least_key ? begin : least_key;
}

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
