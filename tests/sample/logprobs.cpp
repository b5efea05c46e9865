// Softmax in logarithms: overflow, underflow, and what JSON can hold.
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

#include <diecast/sample/logprobs.hpp>
#include <diecast/sample/sampler.hpp>

using namespace diecast;

TEST_CASE("N1: softmax neither overflows nor vanishes") {
  const auto probability = [](const std::vector<float>& logits, int id) { return std::exp(token_logprobs(logits, static_cast<int>(logits.size()), id, 0).logprob); };
  for (const std::vector<float>& logits : {std::vector<float>{100, 99}, std::vector<float>{-1000, -1001}}) {
    CHECK(probability(logits, 0) == Approx(.7310586).margin(1e-7));
    CHECK(probability(logits, 1) == Approx(.2689414).margin(1e-7));
  }
  CHECK(probability({-20000}, 0) == 1);
  CHECK(log_sum_exp(std::vector<float>{3e38F, 3e38F}) == Approx(3e38));
  CHECK(log_sum_exp(std::vector<float>{}) == -std::numeric_limits<double>::infinity());
}

TEST_CASE("W7: log-probabilities are the model's, whatever the sampling") {
  const std::vector<float> logits{std::log(4.0F), std::log(3.0F), std::log(2.0F), std::log(1.0F)};
  const TokenLogprobs token = token_logprobs(logits, 4, 0, 3);
  CHECK(token.logprob == Approx(-0.916291).margin(1e-6));
  REQUIRE(token.top.size() == 3);
  CHECK(token.top[0].logprob == Approx(-0.916291).margin(1e-6));
  CHECK(token.top[1].logprob == Approx(-1.203973).margin(1e-6));
  CHECK(token.top[2].logprob == Approx(-1.609438).margin(1e-6));
}

TEST_CASE("The likeliest tokens come in order, ties by id, impossible ones and unknown ids not at all") {
  const float never = -std::numeric_limits<float>::infinity();
  const std::vector<float> logits{1, 2, never, 2, 5, 7};
  const auto ids = [&](int vocabulary, int top) {
    std::vector<int> result;
    for (const TokenLogprob& token : token_logprobs(logits, vocabulary, 0, top).top) {
      CHECK(std::isfinite(token.logprob));
      result.push_back(token.id);
    }
    return result;
  };
  CHECK(ids(6, 3) == std::vector<int>{5, 4, 1});
  CHECK(ids(5, 9) == std::vector<int>{4, 1, 3, 0});
  CHECK(ids(6, 0).empty());
}
