// The draw on the device gives the ids of the host's sampler: over seeds, steps, temperatures, cuts in either order, odd vocabularies, equal logits.
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

#include <diecast/cuda/drawing.hpp>
#include <diecast/kernels/draw.hpp>
#include <diecast/sample/philox.hpp>
#include <diecast/sample/sampler.hpp>

#include "inputs.hpp"

using namespace diecast::kernels;
using namespace diecast_test;

namespace {

template <int vocab, Team team>
int wrong_draws(const std::vector<std::vector<float>>& logits, diecast::SamplingOptions options, int drawable, std::uint64_t seed,
                int blocks, bool every_schedule) {
  using Op = Draw<Vocabulary{vocab}, team>;
  const int rows = static_cast<int>(logits.size());
  std::vector<float> all;
  std::vector<std::uint64_t> best;
  std::vector<Drawing> drawings;
  std::vector<int> asked;
  for (int row = 0; row < rows; ++row) {
    std::uint64_t key = 0;
    for (int id = 0; id < vocab; ++id) {
      all.push_back(logits[static_cast<std::size_t>(row)][static_cast<std::size_t>(id)]);
      if (id < drawable) key = std::max(key, best_key(all.back(), id));
    }
    best.push_back(key);
    drawings.push_back(diecast::cuda::drawing_of(options, seed + static_cast<std::uint64_t>(row), static_cast<std::uint32_t>(row % 3), 0));
    asked.push_back(row);
  }
  const Constants<float> logits_there(all);
  const Constants<std::uint64_t> best_there(best);
  const Constants<Drawing> drawings_there(drawings);
  const Step step(asked, asked, asked, asked);
  Values<int> ids(rows);
  const typename Op::Params params{step.rows(), logits_there.data(), best_there.data(), drawings_there.data(), drawable, ids.data()};
  if (every_schedule)
    launch<Op>(blocks, params);
  else
    launch_once<Op>(blocks, params);
  int wrong = 0;
  for (int row = 0; row < rows; ++row) {
    options.seed = seed + static_cast<std::uint64_t>(row);
    diecast::Sampler sampler(options, drawable, {}, static_cast<std::uint32_t>(row % 3));
    wrong += ids[row] != sampler.sample(logits[static_cast<std::size_t>(row)]);
  }
  return wrong;
}

struct Cuts {
  int top_k;
  double top_p, min_p;
};

template <int vocab, Team team>
int sweep(std::uint64_t seed) {
  Numbers numbers(seed);
  int cases = 0;
  for (const double temperature : {1.0, 0.3, 5.0})
    for (const auto& [top_k, top_p, min_p] : std::vector<Cuts>{{0, 1, 0},
                                                               {2, 1, 0},
                                                               {3, 0.7, 0},
                                                               {7, 1, 0.2},
                                                               {40, 1, 0},
                                                               {0, 0.9, 0},
                                                               {0, 0.5, 0.01},
                                                               {1, 0.5, 0},
                                                               {40, 0.95, 0.05},
                                                               {0, 0, 0},
                                                               {0, 0.25, 0},
                                                               {0, 1, 1}})
      for (const int shape : {0, 1, 2}) {
        std::vector<std::vector<float>> logits(4);
        for (auto& row : logits)
          for (int id = 0; id < vocab; ++id)  // apart, in steps with many equals, some that cannot be drawn
            row.push_back(shape == 0              ? 3 * numbers.real()
                          : shape == 1            ? static_cast<float>(numbers.below(4))
                          : numbers.below(3) == 0 ? -std::numeric_limits<float>::infinity()
                                                  : numbers.real());
        diecast::SamplingOptions options;
        options.temperature = temperature;
        options.top_k = top_k;
        options.top_p = top_p;
        options.min_p = min_p;
        options.order = cases % 2 == 0 ? diecast::FilterOrder::temperature_first : diecast::FilterOrder::temperature_last;
        INFO("vocabulary " << vocab << ", temperature " << temperature << ", top-k " << top_k << ", top-p " << top_p << ", min-p " << min_p
                           << ", shape " << shape);
        CHECK(wrong_draws<vocab, team>(logits, options, shape == 1 ? vocab - 3 : vocab, seed * 1000 + static_cast<std::uint64_t>(cases),
                                       cases % 3 + 1, cases % 25 == 0) == 0);
        ++cases;
      }
  return cases;
}

}  // namespace

TEST_CASE("the noise and the masses are the host's: the same bits of Philox, logarithms and powers as near as doubles are") {
  Numbers numbers(1);
  int wrong = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto a = static_cast<std::uint32_t>(numbers.bits()), b = static_cast<std::uint32_t>(numbers.bits()),
               c = static_cast<std::uint32_t>(numbers.bits());
    const auto want = diecast::philox4x32({a, b, c, 0}, {c, a});
    const Philox got = diecast::kernels::philox4x32({{a, b, c, 0}}, c, a);
    for (std::size_t k = 0; k < 4; ++k) wrong += got.at[k] != want[k];
    const double uniform = (a + 0.5) * 0x1p-32;
    wrong += !(std::abs(natural_log(uniform) - std::log(uniform)) <= 4e-16 * std::abs(std::log(uniform)));
    wrong += !(std::abs(gumbel(a) - diecast::GumbelNoise::gumbel(uniform)) <= 4e-15);
    wrong += !(std::abs(exponential(-30 * uniform) - std::exp(-30 * uniform)) <= 4e-16 * std::exp(-30 * uniform));
  }
  for (const std::uint32_t bits : {0u, 1u, 0x7fffffffu, 0x80000000u, 0xfffffffeu, 0xffffffffu})
    wrong += !(std::abs(gumbel(bits) - diecast::GumbelNoise::gumbel((bits + 0.5) * 0x1p-32)) <=
               1e-6);  // the last's inner logarithm is 1e-10, of a number near 1
  CHECK(wrong == 0);
}

TEST_CASE("the draw on the device gives the ids of the host's sampler") {
  CHECK(sweep<65, Team{64, 1}>(1) == 108);
  CHECK(sweep<257, Team{32, 1}>(2) == 108);
  CHECK(sweep<1025, Team{96, 1}>(3) == 108);
}

TEST_CASE("the draw: of one id that is left, and of none") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> one(65, -infinity);
  one[33] = -1e30f;
  diecast::SamplingOptions options;
  options.temperature = 1;
  CHECK(wrong_draws<65, Team{64, 1}>({one}, options, 65, 1, 1, true) == 0);
  options.temperature = 0;  // greedy
  CHECK(wrong_draws<65, Team{64, 1}>({one}, options, 65, 1, 1, false) == 0);
  const std::vector<float> none(65, -infinity);
  const Constants<float> logits(none);
  const Constants<std::uint64_t> best({best_key(-infinity, 0)});
  const Constants<Drawing> drawings({{1, 0, 0, 1.0, 1.0, 1.0, -std::numeric_limits<double>::infinity(), 0, 0}});
  const Step step = Step::of(1);
  Values<int> ids(1);
  launch<Draw<Vocabulary{65}, Team{64, 1}>>(1, {step.rows(), logits.data(), best.data(), drawings.data(), 65, ids.data()});
  CHECK(ids[0] == -2);
}
