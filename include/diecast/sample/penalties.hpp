// Penalties make tokens that occurred before less likely. Repetition (Keskar et al. 2019, CTRL) looks at prompt and answer and counts a token
// once, as Hugging Face does; presence and frequency look at the answer alone, as OpenAI documents them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <span>

#include <diecast/sample/options.hpp>

namespace diecast {

class History {
 public:
  void prompt(std::span<const int> ids) {
    for (const int id : ids) in_answer_.try_emplace(id, 0);
  }
  void answer(int id) { ++in_answer_[id]; }
  std::size_t size() const { return in_answer_.size(); }  // different ids that occurred

  // Changes the logits of the ids that occurred, in the design's order: repetition, presence, frequency.
  void apply(const SamplingOptions& options, std::span<float> logits) const {
    for (const auto& [id, count] : in_answer_) {
      if (id < 0 || static_cast<std::size_t>(id) >= logits.size()) continue;
      float& logit = logits[static_cast<std::size_t>(id)];
      if (logit == -std::numeric_limits<float>::infinity()) continue;
      double z = logit;
      z = z > 0 ? z / options.repetition_penalty : z * options.repetition_penalty;
      if (count > 0) z -= options.presence_penalty + options.frequency_penalty * count;
      constexpr double most = (std::numeric_limits<float>::max)();  // a tiny penalty must not make an infinity
      logit = static_cast<float>(std::clamp(z, -most, most));
    }
  }

 private:
  std::map<int, int> in_answer_;  // id -> occurrences in the answer; 0: only in the prompt
};

}  // namespace diecast
