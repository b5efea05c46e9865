// The filters one by one and together, against values by hand and against their definitions written plainly.
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include <diecast/sample/sampler.hpp>

using namespace diecast;

namespace {

constexpr float nan_ = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();

// Every id that many seeds draw.
std::set<int> drawn(const std::vector<float>& logits, SamplingOptions options, std::uint64_t seeds = 400) {
  std::set<int> ids;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    options.seed = seed;
    ids.insert(Sampler(options, static_cast<int>(logits.size())).sample(logits));
  }
  return ids;
}

std::vector<float> logs(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

std::vector<int> kept_by_top_p(const std::vector<float>& logits, double top_p, double temperature = 1) {
  std::vector<int> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  keep_top_p(ids, {logits, *std::max_element(logits.begin(), logits.end()), temperature}, top_p);
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace

TEST_CASE("S1: top-p keeps the token that crosses the limit and no further one") {
  const std::vector<float> halves = logs({.5, .25, .125, .125});
  CHECK(kept_by_top_p(halves, .75) == std::vector<int>{0, 1});
  CHECK(kept_by_top_p(halves, .5) == std::vector<int>{0});
  CHECK(kept_by_top_p(halves, 0) == std::vector<int>{0});
  CHECK(kept_by_top_p(halves, 1) == std::vector<int>{0, 1, 2, 3});
  CHECK(kept_by_top_p(logs({.5, .3, .15, .05}), .6) == std::vector<int>{0, 1});
  CHECK(drawn(halves, {.temperature = 1, .top_p = .75}) == std::set<int>{0, 1});
  CHECK(drawn(halves, {.temperature = 1, .top_p = .5}) == std::set<int>{0});
  CHECK(drawn(halves, {.temperature = 1, .top_p = 0}) == std::set<int>{0});
  CHECK(drawn(halves, {.temperature = 1, .top_p = 1}) == std::set<int>{0, 1, 2, 3});
}

TEST_CASE("S2: ties are cut at the lowest ids") {
  CHECK(kept_by_top_p({1, 1, 1, 1}, .5) == std::vector<int>{0, 1});
  CHECK(kept_by_top_p(std::vector<float>(4096, 1), .5).size() == 2048);
  CHECK(kept_by_top_p(std::vector<float>(4096, 1), .5).back() == 2047);
  CHECK(drawn({1, 1, 1, 1}, {.temperature = 1, .top_p = .5}) == std::set<int>{0, 1});
  CHECK(drawn({1, 1, 1, 0}, {.temperature = 1, .top_k = 2}) == std::set<int>{0, 1});
  CHECK(drawn({0, 1, 1, 1}, {.temperature = 1, .top_k = 2}) == std::set<int>{1, 2});
}

TEST_CASE("S3: a tiny temperature is greedy") {
  for (const double temperature : {0.0, 5e-324, 1e-310, 1e-40, 1e-7}) {
    CHECK(drawn({1, 2}, {.temperature = temperature}) == std::set<int>{1});
    CHECK(drawn({2, 1}, {.temperature = temperature, .top_p = .9, .min_p = .1}) == std::set<int>{0});
    CHECK(drawn({1, 2}, {.temperature = temperature, .order = FilterOrder::temperature_last}) == std::set<int>{1});
  }
  CHECK(drawn({1, 2, 2}, {.temperature = 0}) == std::set<int>{1});  // the lowest id of equals
}

TEST_CASE("S4: top-k beyond the vocabulary is no filter, 1 is the likeliest") {
  const std::vector<float> logits{1, 1.5F, 1.25F, 0.5F};
  for (const int off : {9999999, 4, 0, -1}) CHECK(drawn(logits, {.temperature = 1, .top_k = off}) == std::set<int>{0, 1, 2, 3});
  CHECK(drawn(logits, {.temperature = 1, .top_k = 1}) == std::set<int>{1});
  CHECK(drawn({-infinity, -infinity, 0, -infinity}, {.temperature = 1}) == std::set<int>{2});  // one-hot probabilities
}

TEST_CASE("S5: the temperature before or after the filters") {
  const std::vector<float> logits{3, 2, 1};
  CHECK(drawn(logits, {.temperature = .5, .top_p = .8}) == std::set<int>{0});
  const SamplingOptions last{.temperature = .5, .top_p = .8, .seed = 1, .order = FilterOrder::temperature_last};
  Sampler sampler(last, 3);
  int counts[3] = {};
  for (int i = 0; i < 20'000; ++i) ++counts[sampler.sample(logits)];
  CHECK(counts[2] == 0);
  CHECK(counts[0] / 20'000.0 == Approx(.880797).margin(.0075));  // three standard deviations are .0069
}

TEST_CASE("S8: logits that are no numbers are errors that name the step") {
  Sampler sampler({}, 3);
  CHECK(sampler.sample(std::vector<float>{0, 1, 0}) == 1);
  CHECK_THROWS_WITH(sampler.sample(std::vector<float>{nan_, 1, 2}), "the logits of step 1 hold NaN at id 0: the weights in the model file are damaged");
  CHECK_THROWS_WITH(sampler.sample(std::vector<float>{0, 1, infinity}), "the logits of step 1 hold infinity at id 2: the weights in the model file are damaged");
  CHECK_THROWS_WITH(sampler.sample(std::vector<float>{-infinity, -infinity, -infinity}), "the logits of step 1 leave no token that can be drawn: the weights in the model file are damaged");
  CHECK_THROWS_AS(sampler.sample(std::vector<float>{}), Error);
  CHECK(sampler.sample(std::vector<float>{-infinity, 0, -infinity}) == 1);
  CHECK(drawn({-infinity, 0, -infinity}, {.temperature = 1}) == std::set<int>{1});
  CHECK(drawn({-infinity, 0, -infinity}, {.temperature = 1e300, .top_k = 2, .top_p = .99}) == std::set<int>{1});
  CHECK(drawn({-infinity, 0, -infinity}, {.repetition_penalty = 1.5}) == std::set<int>{1});
  for (const std::vector<float>& wrong : {std::vector<float>{nan_, 1, 2}, {0, infinity, 0}, {-infinity, -infinity, -infinity}}) {
    try {
      Sampler({.temperature = 1, .seed = 1}, 3).sample(wrong);
      FAIL("drawn");
    } catch (const Error& error) {
      CHECK(error.blame() == Blame::user);  // a whole model file mends it
    }
  }
}

TEST_CASE("Logits beyond the tokenizer's ids are never sampled, and may be anything") {
  Sampler sampler({}, 2);
  CHECK(sampler.sample(std::vector<float>{1, 2, 9, nan_}) == 1);
  for (std::uint64_t seed = 0; seed < 200; ++seed) CHECK(Sampler({.temperature = 5, .seed = seed}, 2).sample(std::vector<float>{1, 2, 9, 9}) < 2);
  CHECK(Sampler({}, 100).sample(std::vector<float>{1, 2}) == 1);  // a tokenizer with more ids than the model
  CHECK_THROWS_AS(Sampler({}, 0), Error);
}

TEST_CASE("Min-p keeps what is at least min_p times as likely as the likeliest") {
  const std::vector<float> logits = logs({.5, .3, .15, .05});
  CHECK(drawn(logits, {.temperature = 1, .min_p = .2}) == std::set<int>{0, 1, 2});
  CHECK(drawn(logits, {.temperature = 1, .min_p = .5}) == std::set<int>{0, 1});
  CHECK(drawn(logits, {.temperature = 1, .min_p = 1}) == std::set<int>{0});
  CHECK(drawn({1, 1, 0}, {.temperature = 1, .min_p = 1}) == std::set<int>{0, 1});
  CHECK(drawn(logits, {.temperature = 1, .min_p = 0}) == std::set<int>{0, 1, 2, 3});
}

TEST_CASE("Each filter sees what the one before left: top-p counts the mass of the top-k") {
  // of [.4, .3, .2, .1], the first two share everything after top-k 2: 4/7 = .571
  const std::vector<float> logits = logs({.4, .3, .2, .1});
  CHECK(drawn(logits, {.temperature = 1, .top_k = 2, .top_p = .55}) == std::set<int>{0});
  CHECK(drawn(logits, {.temperature = 1, .top_p = .55}) == std::set<int>{0, 1});
}

TEST_CASE("Penalties: repetition over prompt and answer, presence and frequency over the answer") {
  const auto after = [](SamplingOptions options, std::vector<int> prompt, std::vector<int> answer, std::vector<float> logits) {
    History history;
    history.prompt(prompt);
    for (const int id : answer) history.answer(id);
    history.apply(options, logits);
    return logits;
  };
  const std::vector<float> logits{2, -2, 4, -infinity, 1};
  CHECK(after({.repetition_penalty = 2}, {0, 1, 0, 3}, {2}, logits) == std::vector<float>{1, -4, 2, -infinity, 1});  // once, however often
  CHECK(after({.presence_penalty = .5}, {0}, {1, 1, 2}, logits) == std::vector<float>{2, -2.5F, 3.5F, -infinity, 1});
  CHECK(after({.frequency_penalty = .5}, {0}, {1, 1, 2}, logits) == std::vector<float>{2, -3, 3.5F, -infinity, 1});
  CHECK(after({.repetition_penalty = 2, .presence_penalty = 1, .frequency_penalty = .25}, {}, {2, 2}, logits) == std::vector<float>{2, -2, .5F, -infinity, 1});
  CHECK(after({.repetition_penalty = 2}, {-1, 99}, {}, logits) == logits);
  CHECK(std::isfinite(after({.repetition_penalty = 1e-300}, {0}, {}, logits)[0]));

  Sampler sampler({.frequency_penalty = 1}, 3);  // greedy decoding is penalised too
  std::vector<int> ids(4);
  for (int& id : ids) id = sampler.sample(std::vector<float>{3, 2.5F, 1});
  CHECK(ids == std::vector<int>{0, 1, 0, 1});
  CHECK(Sampler({.repetition_penalty = 4}, 3, std::vector<int>{0}).sample(std::vector<float>{3, 2.5F, 1}) == 1);
}

TEST_CASE("Cuts agree with their definitions on random logits of every shape") {
  std::mt19937 random(3);
  const auto unit = [&] { return static_cast<double>(random() % 1'000'001) / 1e6; };
  for (int round = 0; round < 300; ++round) {
    const std::size_t size = round % 10 == 0 ? 20'000 : 1 + random() % 300;
    const double spread = std::pow(10, 4 * unit() - 2);  // from flat to peaked
    std::vector<float> logits(size);
    for (float& z : logits) {
      z = static_cast<float>(spread * std::log(unit() + 1e-9));
      if (round % 3 == 0) z = std::round(z);  // many ties
      if (round % 7 == 0 && random() % 4 == 0) z = -infinity;
    }
    logits[random() % size] = 0.5F;

    std::vector<int> order(size);  // all that can be drawn, in rank order
    std::iota(order.begin(), order.end(), 0);
    std::erase_if(order, [&](int id) { return logits[static_cast<std::size_t>(id)] == -infinity; });
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)]; });

    const std::size_t k = 1 + random() % (size + 3);
    std::vector<int> best;
    first_in_rank(logits, k, best);
    std::vector<int> expected(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(std::min(k, order.size())));
    std::sort(best.begin(), best.end());
    std::sort(expected.begin(), expected.end());
    CHECK(best == expected);

    const double top_p = unit() * .999;
    long double total = 0, mass = 0;
    for (const int id : order) total += std::exp(static_cast<long double>(logits[static_cast<std::size_t>(id)]) - .5L);
    std::size_t kept = 0;
    bool close = false;  // a sum within rounding of the limit may fall on either side
    while (kept == 0 || mass < static_cast<long double>(top_p) * total) {
      mass += std::exp(static_cast<long double>(logits[static_cast<std::size_t>(order[kept++])]) - .5L);
      close = close || std::abs(static_cast<double>(mass / total) - top_p) < 1e-7;
    }
    std::vector<int> ids = order;
    std::shuffle(ids.begin(), ids.end(), random);
    if (*std::max_element(logits.begin(), logits.end()) == 0.5F && !close) {
      keep_top_p(ids, {logits, .5, 1}, top_p);
      std::sort(ids.begin(), ids.end());
      expected.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept));
      std::sort(expected.begin(), expected.end());
      CHECK(ids == expected);
    }
  }
}
