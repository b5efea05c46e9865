// What a sampler chooses from candidates is what it chooses from all logits.
#include <diecast/sample/sampler.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace diecast;

namespace {

// The best of some logits and all that equal the last of them, by sorting.
std::vector<Candidate> best_of(const std::vector<float>& logits, Best best) {
  std::vector<float> sorted(logits.begin(), logits.begin() + best.ids);
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const float bar = sorted[static_cast<std::size_t>((std::min)(best.count, best.ids)) - 1];
  std::vector<Candidate> candidates;
  for (int id = 0; id < best.ids; ++id)
    if (!(logits[static_cast<std::size_t>(id)] < bar)) candidates.push_back({id, logits[static_cast<std::size_t>(id)]});
  return candidates;
}

}  // namespace

TEST_CASE("a sampler chooses the same ids from the candidates that it asks for as from all logits") {
  std::mt19937_64 random(3);
  std::vector<SamplingOptions> all_options(7);
  all_options[1].repetition_penalty = 1.3;
  all_options[2] = {.temperature = 0.8, .top_k = 5, .seed = 1};
  all_options[3] = {.temperature = 1.5, .top_k = 40, .top_p = 0.9, .min_p = 0.01, .seed = 2};
  all_options[4] = {.temperature = 1, .top_k = 3, .repetition_penalty = 1.1, .presence_penalty = 0.5, .frequency_penalty = 0.5, .seed = 3};
  all_options[5] = {.temperature = 1, .top_k = 20, .top_p = 0.5, .seed = 4, .order = FilterOrder::temperature_last};
  all_options[6] = {.presence_penalty = 2, .frequency_penalty = 2};
  for (const SamplingOptions& options : all_options) {
    const std::vector<int> prompt{3, 9, 9, 700, 4000};
    Sampler dense(options, 501, prompt), sparse(options, 501, prompt);
    for (int step = 0; step < 60; ++step) {
      std::vector<float> logits(512);
      for (float& z : logits) {
        z = static_cast<float>(static_cast<double>(random() % 4000) / 400 - 5);
        if (step % 2 == 0) z = std::round(z);  // many ties
      }
      logits[508] = 100;  // behind the tokenizer's last id
      const Best best = sparse.needs();
      REQUIRE(best.count > 0);
      REQUIRE(best.ids == 501);
      REQUIRE(sparse.sample(std::span<const Candidate>(best_of(logits, best))) == dense.sample(logits));
    }
  }
}

TEST_CASE("a sampler asks for all logits where the best do not suffice") {
  CHECK(Sampler({.temperature = 1, .seed = 1}, 100).needs().count == 0);
  CHECK(Sampler({.temperature = 1, .top_p = 0.9, .seed = 1}, 100).needs().count == 0);
  CHECK(Sampler({.repetition_penalty = 0.9}, 100).needs().count == 0);
  CHECK(Sampler({.presence_penalty = -0.1}, 100).needs().count == 0);
  CHECK(Sampler({.frequency_penalty = -0.1}, 100).needs().count == 0);
  CHECK(Sampler({.temperature = 1, .top_k = 257, .seed = 1}, 1000).needs().count == 0);
  CHECK(Sampler({}, 100).needs().count == 1);
  CHECK(Sampler({.temperature = 1, .top_k = 64, .seed = 1}, 100).needs().count == 64);
  const std::vector<int> prompt{1, 2, 2};
  CHECK(Sampler({.repetition_penalty = 1.1}, 100, prompt).needs().count == 3);
}

TEST_CASE("a candidate that is no number is refused by its id") {
  const std::vector<Candidate> candidates{{4, 1.0F}, {7, std::numeric_limits<float>::quiet_NaN()}};
  CHECK_THROWS_WITH(Sampler({}, 100).sample(std::span<const Candidate>(candidates)), Catch::Contains("NaN at id 7"));
  const std::vector<Candidate> infinite{{4, std::numeric_limits<float>::infinity()}};
  CHECK_THROWS_WITH(Sampler({}, 100).sample(std::span<const Candidate>(infinite)), Catch::Contains("infinity at id 4"));
  CHECK_THROWS_WITH(Sampler({}, 100).sample(std::span<const Candidate>()), Catch::Contains("no token"));
}
