// Step 6: from the logits of one position to one token id. The order is the design's: penalties, temperature, top-k, top-p, min-p, the draw.
// A sampler belongs to one answer: it counts the steps and remembers what occurred.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <diecast/error.hpp>
#include <diecast/sample/draw.hpp>
#include <diecast/sample/filters.hpp>
#include <diecast/sample/options.hpp>
#include <diecast/sample/penalties.hpp>
#include <diecast/sample/rank.hpp>

namespace diecast {

class Sampler {
 public:
  // vocabulary: how many ids the tokenizer has; logits beyond them are never looked at.
  // choice: which of several answers to one request this is.
  Sampler(const SamplingOptions& options, int vocabulary, std::span<const int> prompt = {}, std::uint32_t choice = 0)
      : options_(options), vocabulary_(vocabulary), choice_(choice) {
    check(options);
    if (vocabulary < 1) throw Error("there is no token to choose: the vocabulary holds " + std::to_string(vocabulary), Blame::program);
    if (options.seed) {
      seed_ = *options.seed;
    } else if (!options.greedy()) {
      std::random_device device;
      seed_ = (std::uint64_t{device()} << 32) | device();
    }
    if (options.penalises()) history_.prompt(prompt);
  }

  // The next token of the answer, given the model's logits [vocab]. NaN or infinity among them blames the model file: its user can get a whole one.
  int sample(std::span<const float> logits) {
    auto row = logits.first((std::min)(logits.size(), static_cast<std::size_t>(vocabulary_)));
    int best = likeliest(row);
    if (options_.penalises()) {
      penalised_.assign(row.begin(), row.end());
      history_.apply(options_, penalised_);
      row = penalised_;
      best = likeliest(row);
    }
    const int id = options_.greedy() || options_.top_k == 1 ? best : drawn(row, best);
    if (options_.penalises()) history_.answer(id);
    ++step_;
    return id;
  }

  std::uint32_t step() const { return step_; }  // tokens sampled so far
  std::uint64_t seed() const { return seed_; }  // the request's, or the one that was made up

 private:
  // The id of the largest logit, the lowest of equals. One pass also finds what is no number.
  int likeliest(std::span<const float> row) const {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    float max = -infinity;
    int best = -1;
    bool numbers = true;
    for (std::size_t id = 0; id < row.size(); ++id) {
      numbers = numbers && row[id] < infinity;  // NaN fails
      if (row[id] > max) {
        max = row[id];
        best = static_cast<int>(id);
      }
    }
    if (!numbers) {
      const auto wrong = std::find_if_not(row.begin(), row.end(), [](float z) { return z < infinity; });
      throw Error("the logits of step " + std::to_string(step_) + " hold " + (*wrong == infinity ? "infinity" : "NaN") + " at id " +
                  std::to_string(wrong - row.begin()) + ": the weights in the model file are damaged");
    }
    if (best < 0) throw Error("the logits of step " + std::to_string(step_) + " leave no token that can be drawn: the weights in the model file are damaged");
    return best;
  }

  int drawn(std::span<const float> row, int best) {
    const double max = row[static_cast<std::size_t>(best)];
    const Relative tempered{row, max, options_.temperature};
    const Relative filtered{row, max, options_.order == FilterOrder::temperature_first ? options_.temperature : 1};
    if (options_.top_k > 0 && static_cast<std::size_t>(options_.top_k) < row.size()) {
      first_in_rank(row, static_cast<std::size_t>(options_.top_k), kept_);
    } else {
      kept_.resize(row.size());
      std::iota(kept_.begin(), kept_.end(), 0);
      std::erase_if(kept_, [&](int id) { return row[static_cast<std::size_t>(id)] == -std::numeric_limits<float>::infinity(); });
    }
    keep_top_p(kept_, filtered, options_.top_p);
    keep_min_p(kept_, filtered, options_.min_p);
    return draw(kept_, tempered, GumbelNoise(seed_, choice_, step_));
  }

  SamplingOptions options_;
  int vocabulary_;
  std::uint32_t choice_;
  std::uint32_t step_ = 0;
  std::uint64_t seed_ = 0;
  History history_;
  std::vector<float> penalised_;
  std::vector<int> kept_;
};

}  // namespace diecast
