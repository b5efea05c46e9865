// How a token is chosen: the numbers of one request, and the sentences that refuse impossible ones.
// Temperature 0 is greedy, and greedy is what nobody asked otherwise gets. Names are those of generation_config.json and OpenAI's API.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include <diecast/error.hpp>
#include <diecast/text.hpp>

namespace diecast {

// Two camps exist. Hugging Face divides by the temperature, then filters; llama.cpp filters, then divides.
enum class FilterOrder { temperature_first, temperature_last };

struct SamplingOptions {
  double temperature = 0;         // 0: greedy
  int top_k = 0;                  // the k likeliest; 0 or -1: all
  double top_p = 1;               // the smallest set of likeliest tokens whose mass is >= top_p; 1: all
  double min_p = 0;               // at least min_p times as likely as the likeliest; 0: all
  double repetition_penalty = 1;  // over prompt and answer, as Hugging Face: z / r where z > 0, z * r elsewhere
  double presence_penalty = 0;    // over the answer, as OpenAI: z - presence for a token that occurred
  double frequency_penalty = 0;   // over the answer, as OpenAI: z - frequency * occurrences
  std::optional<std::uint64_t> seed{};  // absent: a new one for every answer
  FilterOrder order = FilterOrder::temperature_first;

  bool greedy() const { return temperature == 0; }
  bool penalises() const { return repetition_penalty != 1 || presence_penalty != 0 || frequency_penalty != 0; }
};

namespace detail {

inline void check_range(const char* name, double value, double least, double most) {
  if (!(value >= least && value <= most))  // so that NaN fails
    throw Error(std::string(name) + " is " + text_of(value) + " but must lie between " + text_of(least) + " and " + text_of(most));
}

}  // namespace detail

inline void check(const SamplingOptions& options) {
  if (!(options.temperature >= 0 && std::isfinite(options.temperature)))
    throw Error("temperature is " + text_of(options.temperature) + " but must be 0 or a positive number");
  if (options.top_k < -1) throw Error("top_k is " + std::to_string(options.top_k) + " but must be positive, or 0 or -1 to switch it off");
  detail::check_range("top_p", options.top_p, 0, 1);
  detail::check_range("min_p", options.min_p, 0, 1);
  if (!(options.repetition_penalty > 0 && std::isfinite(options.repetition_penalty)))
    throw Error("repetition_penalty is " + text_of(options.repetition_penalty) + " but must be a positive number");
  detail::check_range("presence_penalty", options.presence_penalty, -2, 2);
  detail::check_range("frequency_penalty", options.frequency_penalty, -2, 2);
}

}  // namespace diecast
