// Random bits, Gumbel noise and the distribution of what is drawn.
#include <catch2/catch.hpp>

#include <cmath>
#include <numeric>

#include <diecast/sample/draw.hpp>
#include <diecast/sample/sampler.hpp>

using namespace diecast;

TEST_CASE("Philox4x32-10: the published known answers") {  // Random123, tests/kat_vectors
  using Words = std::array<std::uint32_t, 4>;
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr std::uint32_t ones = 0xffffffff;
  CHECK(philox4x32({ones, ones, ones, ones}, {ones, ones}) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) == Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("Noise is a function of seed, choice, step and id alone") {  // values: Philox and Gumbel in plain Python
  const auto check = [](std::uint64_t seed, std::uint32_t choice, std::uint32_t step, int id, double uniform, double gumbel) {
    GumbelNoise noise(seed, choice, step);
    noise.uniform(1);  // whatever was asked before
    CHECK(noise.uniform(id) == uniform);
    CHECK(GumbelNoise::gumbel(uniform) == Approx(gumbel).epsilon(1e-14));
  };
  check(42, 0, 0, 0, 0.61295988119672984, 0.71446113396279787);
  check(42, 0, 0, 5, 0.32706338108982891, -0.1111846929756222);
  check(42, 0, 3, 5, 0.90171773231122643, 2.2686306913233576);
  check(42, 1, 3, 5, 0.51996184990275651, 0.42464817879458561);
  check((std::uint64_t{7} << 32) | 42, 0, 3, 5, 0.46017853508237749, 0.25342140275306102);
  check(42, 0, 7, 262143, 0.015860852436162531, -1.4216376911284012);
}

TEST_CASE("Seeded draws stay what they are") {  // ids: the definition of the draw in plain Python
  const std::vector<float> logits{0, 1.6875F, 1.8125F, 0.28125F, -1.515625F, -1.921875F, -0.5625F, 1.3125F, 1.984375F, 0.828125F, -1.09375F};
  const auto ids = [&](SamplingOptions options) {
    Sampler sampler(options, 11);
    std::vector<int> drawn(40);
    for (int& id : drawn) id = sampler.sample(logits);
    return drawn;
  };
  CHECK(ids({.temperature = 1, .seed = 42}) == std::vector<int>{8, 7, 1, 1, 2, 9, 7, 9, 7, 9, 1, 9, 8, 9, 7, 2, 8, 8, 0, 2,
                                                                8, 8, 2, 3, 1, 8, 0, 7, 2, 8, 8, 7, 9, 1, 3, 7, 7, 2, 8, 6});
  CHECK(ids({.temperature = 0.7, .seed = 1234567890123}) == std::vector<int>{9, 9, 1, 1, 9, 7, 2, 2, 1, 3, 8, 2, 7, 7, 7, 2, 7, 8, 8, 2,
                                                                             1, 2, 8, 7, 1, 1, 2, 2, 8, 9, 2, 7, 2, 2, 8, 2, 2, 1, 7, 8});
}

TEST_CASE("The draw does not depend on the order of the ids, and skipping hopeless ones changes nothing") {
  std::vector<float> logits(5000);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(3 * std::sin(0.37 * static_cast<double>(i * i % 1009)));
  std::vector<int> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const double max = *std::max_element(logits.begin(), logits.end());
  for (const double temperature : {0.05, 1.0, 20.0})
    for (std::uint32_t step = 0; step < 50; ++step) {
      const Relative relative{logits, max, temperature};
      GumbelNoise noise(7, 0, step);
      int expected = 0;
      double best = -1e300;
      for (const int id : ids) {
        const double score = relative(id) + GumbelNoise::gumbel(noise.uniform(id));
        if (score > best) best = score, expected = id;
      }
      std::vector<int> reversed(ids.rbegin(), ids.rend());
      CHECK(draw(ids, relative, noise) == expected);
      CHECK(draw(reversed, relative, noise) == expected);
    }
}

namespace {

// Pearson's statistic of the draws against the probabilities.
double chi_square(const std::vector<int>& counts, const std::vector<double>& probabilities) {
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = total * probabilities[i];
    sum += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  return sum;
}

}  // namespace

TEST_CASE("Tokens are drawn with their softmax probabilities, over steps, seeds and choices") {
  // Critical values of chi-square at 0.001, from its table: 18.467 for 4 degrees of freedom, 10.828 for 1. Seeds are fixed: no luck involved.
  const std::vector<double> probabilities{0.4, 0.3, 0.2, 0.06, 0.04};
  std::vector<float> logits, halved;
  for (const double p : probabilities) {
    logits.push_back(static_cast<float>(std::log(p)));
    halved.push_back(static_cast<float>(2.5 * std::log(p)));  // temperature 2.5 brings them back
  }
  std::vector<int> steps(5), seeds(5), choices(5), warm(5);
  Sampler sampler({.temperature = 1, .seed = 1}, 5);
  Sampler warmer({.temperature = 2.5, .seed = 2}, 5);
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    ++steps[static_cast<std::size_t>(sampler.sample(logits))];
    ++warm[static_cast<std::size_t>(warmer.sample(halved))];
    ++seeds[static_cast<std::size_t>(Sampler({.temperature = 1, .seed = i}, 5).sample(logits))];
    ++choices[static_cast<std::size_t>(Sampler({.temperature = 1, .seed = 3}, 5, {}, i).sample(logits))];
  }
  CHECK(chi_square(steps, probabilities) < 18.467);
  CHECK(chi_square(seeds, probabilities) < 18.467);
  CHECK(chi_square(choices, probabilities) < 18.467);
  CHECK(chi_square(warm, probabilities) < 18.467);

  std::vector<int> kept(2);  // after top-k 2 the two share everything: 4/7 and 3/7
  Sampler filtered({.temperature = 1, .top_k = 2, .seed = 4}, 5);
  for (int i = 0; i < 20'000; ++i) ++kept[static_cast<std::size_t>(filtered.sample(logits))];
  CHECK(chi_square(kept, {4.0 / 7, 3.0 / 7}) < 10.828);
}

TEST_CASE("A large flat vocabulary is drawn from evenly") {
  const std::vector<float> logits(262'144, 1.5F);
  Sampler sampler({.temperature = 1, .seed = 11}, 262'144);
  std::vector<int> counts(8);
  for (int i = 0; i < 400; ++i) ++counts[static_cast<std::size_t>(sampler.sample(logits)) / 32'768];
  CHECK(chi_square(counts, std::vector<double>(8, 0.125)) < 24.322);  // 7 degrees of freedom at 0.001
}

TEST_CASE("S6: an answer without a seed does not repeat the last one, and tells its seed") {
  const std::vector<float> logits(64, 0.0F);
  const auto ids = [&](Sampler sampler) {
    std::vector<int> drawn(20);
    for (int& id : drawn) id = sampler.sample(logits);
    return drawn;
  };
  const Sampler one({.temperature = 1}, 64), other({.temperature = 1}, 64);
  CHECK(one.seed() != other.seed());
  CHECK(ids(one) != ids(other));
  CHECK(ids(Sampler({.temperature = 1, .seed = one.seed()}, 64)) == ids(one));
}
