// Step 6: from the logits of one position to one token id. The order is the design's: penalties, temperature, top-k, top-p, min-p, the draw.
// A sampler belongs to one answer: it counts the steps and remembers what occurred.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <diecast/error.hpp>
#include <diecast/sample/candidate.hpp>
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

  // What of the next logits suffices. With top-k (greedy is top-1) the k best do; ids that occurred may lose their places to penalties, so that as many
  // more are needed. A penalty that raises logits, and cuts without top-k, need all. later: how many tokens may be sampled before those that are asked for.
  Best needs(int later = 0) const {
    const int k = options_.greedy() ? 1 : options_.top_k;
    const bool raises = options_.repetition_penalty < 1 || options_.presence_penalty < 0 || options_.frequency_penalty < 0;
    const std::size_t count = static_cast<std::size_t>((std::max)(k, 0)) + (options_.penalises() ? history_.size() + static_cast<std::size_t>(later) : 0);
    if (k < 1 || raises || count > most_candidates) return {};
    return {static_cast<int>(count), vocabulary_};
  }

  // The next token of the answer, given the model's logits [vocab]. NaN or infinity among them blames the model file: its user can get a whole one.
  int sample(std::span<const float> logits) {
    auto row = logits.first((std::min)(logits.size(), static_cast<std::size_t>(vocabulary_)));
    const AllIds all{static_cast<int>(row.size())};
    int best = likeliest(row, all);
    if (options_.penalises()) {
      penalised_.assign(row.begin(), row.end());
      history_.apply(options_, penalised_);
      row = penalised_;
      best = likeliest(row, all);
    }
    return choose(row, all, best);
  }
  // The same token, given the candidates that needs() asked for, in ascending order of their ids.
  int sample(std::span<const Candidate> candidates) {
    sparse_.resize(static_cast<std::size_t>(vocabulary_), nothing);
    given_.clear();
    for (const Candidate& candidate : candidates) {
      if (candidate.id < 0 || candidate.id >= vocabulary_) continue;
      sparse_[static_cast<std::size_t>(candidate.id)] = candidate.logit;
      given_.push_back(candidate.id);
    }
    const Cleared cleared{sparse_, given_};
    int best = likeliest(sparse_, given_);
    if (options_.penalises()) {
      history_.apply(options_, sparse_);
      best = likeliest(sparse_, given_);
    }
    return choose(sparse_, given_, best);
  }

  std::uint32_t step() const { return step_; }  // tokens sampled so far
  std::uint64_t seed() const { return seed_; }  // the request's, or the one that was made up

 private:
  static constexpr std::size_t most_candidates = 256;
  static constexpr float nothing = -std::numeric_limits<float>::infinity();

  // Makes a row of candidates empty again.
  struct Cleared {
    std::vector<float>& row;
    const std::vector<int>& ids;
    ~Cleared() {
      for (const int id : ids) row[static_cast<std::size_t>(id)] = nothing;
    }
  };

  // Of ascending ids the one with the largest logit, the lowest of equals. One pass also finds what is no number.
  template <class Ids>
  int likeliest(std::span<const float> row, const Ids& ids) const {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    float most = -infinity;
    int best = -1, wrong = -1;
    for (const int id : ids) {
      const float logit = row[static_cast<std::size_t>(id)];
      if (!(logit < infinity) && wrong < 0) wrong = id;  // NaN, too
      if (logit > most) {
        most = logit;
        best = id;
      }
    }
    if (wrong >= 0)
      throw Error("the logits of step " + std::to_string(step_) + " hold " + (row[static_cast<std::size_t>(wrong)] == infinity ? "infinity" : "NaN") + " at id " + std::to_string(wrong) +
                  ": the weights in the model file are damaged");
    if (best < 0) throw Error("the logits of step " + std::to_string(step_) + " leave no token that can be drawn: the weights in the model file are damaged");
    return best;
  }

  template <class Ids>
  int choose(std::span<const float> row, const Ids& ids, int best) {
    const int id = options_.greedy() || options_.top_k == 1 ? best : drawn(row, ids, best);
    if (options_.penalises()) history_.answer(id);
    ++step_;
    return id;
  }

  template <class Ids>
  int drawn(std::span<const float> row, const Ids& ids, int best) {
    const double most = row[static_cast<std::size_t>(best)];
    const Relative tempered{row, most, options_.temperature};
    const Relative filtered{row, most, options_.order == FilterOrder::temperature_first ? options_.temperature : 1};
    if (options_.top_k > 0 && static_cast<std::size_t>(options_.top_k) < ids.size()) {
      first_in_rank(row, ids, static_cast<std::size_t>(options_.top_k), kept_);
    } else {
      kept_.assign(ids.begin(), ids.end());
      std::erase_if(kept_, [&](int id) { return row[static_cast<std::size_t>(id)] == nothing; });
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
  std::vector<float> sparse_;  // the candidates' logits among nothing
  std::vector<int> given_, kept_;
};

}  // namespace diecast
