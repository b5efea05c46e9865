// Who decides how tokens are chosen: the user over the model's file over greedy, field by field.
// A seed or a penalty alone does not switch sampling on; temperature, top_k, top_p and min_p do.
#pragma once

#include <cstdint>
#include <optional>

#include <diecast/files/model.hpp>
#include <diecast/sample/options.hpp>

namespace diecast {

// What the user said; absent: nothing.
struct SamplingChoice {
  bool greedy = false;
  std::optional<double> temperature{}, top_p{}, min_p{}, repetition_penalty{}, presence_penalty{}, frequency_penalty{};
  std::optional<int> top_k{};
  std::optional<std::uint64_t> seed{};
  std::optional<FilterOrder> order{};
};

// The file's do_sample decides whether its numbers sample; where it is absent, they do as soon as there is one.
inline SamplingOptions resolve(const SamplingChoice& user, const GenerationDefaults& file) {
  const bool user_samples = user.temperature || user.top_k || user.top_p || user.min_p;
  const bool file_samples = file.do_sample.value_or(file.temperature || file.top_k || file.top_p || file.min_p);
  if (user.greedy && user.temperature.value_or(0) != 0)
    throw Error("greedy and temperature " + text_of(*user.temperature) + " exclude each other");

  SamplingOptions options;
  options.temperature = user.greedy                    ? 0
                        : user_samples || file_samples ? user.temperature.value_or(file.temperature.value_or(1))
                                                       : 0;
  options.top_k = user.top_k.value_or(file.top_k.value_or(options.top_k));
  options.top_p = user.top_p.value_or(file.top_p.value_or(options.top_p));
  options.min_p = user.min_p.value_or(file.min_p.value_or(options.min_p));
  options.repetition_penalty = user.repetition_penalty.value_or(file.repetition_penalty.value_or(options.repetition_penalty));
  options.presence_penalty = user.presence_penalty.value_or(options.presence_penalty);
  options.frequency_penalty = user.frequency_penalty.value_or(options.frequency_penalty);
  options.seed = user.seed;
  options.order = user.order.value_or(options.order);
  check(options);
  return options;
}

inline constexpr int default_max_tokens = 256;

inline int resolve_max_tokens(std::optional<int> user, const GenerationDefaults& file) {
  return user.value_or(file.max_new_tokens.value_or(default_max_tokens));
}

}  // namespace diecast
