// Rotary positions (Su et al. 2021): pair i of a head, the values i and i + rotary_dim/2, turns by position * inv_freq[i].
// Frequencies and angles are computed in double and rounded once, so that long contexts lose nothing.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include <diecast/isa.hpp>
#include <diecast/spec/spec.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::reference::inline DIECAST_ISA {

// YaRN (Peng et al. 2023) with the bands in whole pairs, as its authors' code and transformers have them.
inline double yarn_frequency(const YarnScaling& yarn, double theta, int rotary_dim, int pair) {
  const auto pair_that_turns = [&](double times) {  // as often, within the original context
    return rotary_dim * std::log(yarn.original_context / (times * 2 * std::numbers::pi)) / (2 * std::log(theta));
  };
  const double first = (std::max)(std::floor(pair_that_turns(yarn.beta_fast)), 0.0);
  double last = (std::min)(std::ceil(pair_that_turns(yarn.beta_slow)), rotary_dim - 1.0);
  if (last == first) last += 0.001;
  const double divided = (std::clamp)((pair - first) / (last - first), 0.0, 1.0);
  const double frequency = std::pow(theta, -2.0 * pair / rotary_dim);
  return divided * frequency / yarn.factor + (1 - divided) * frequency;
}

// What the values that turn are stretched by, in Q and in K.
inline double stretch_of(const Rope& rope) {
  const auto* yarn = rope.scaling ? std::get_if<YarnScaling>(&*rope.scaling) : nullptr;
  if (!yarn) return 1;
  return yarn->attention_factor.value_or(yarn->factor > 1 ? 0.1 * std::log(yarn->factor) + 1 : 1.0);
}

// Radians a position, for each pair.
inline std::vector<double> inverse_frequencies(const Rope& rope, int head_dim) {  // [rotary_dim / 2]
  const int rotary_dim = rope.rotary_dim.value_or(head_dim);
  std::vector<double> frequencies;
  for (int pair = 0; pair < rotary_dim / 2; ++pair) {
    double frequency = std::pow(rope.theta, -2.0 * pair / rotary_dim);
    if (rope.scaling) {
      if (const auto* linear = std::get_if<LinearScaling>(&*rope.scaling)) frequency /= linear->factor;
      if (const auto* yarn = std::get_if<YarnScaling>(&*rope.scaling)) frequency = yarn_frequency(*yarn, rope.theta, rotary_dim, pair);
      if (const auto* llama3 = std::get_if<Llama3Scaling>(&*rope.scaling)) {
        // How often this pair turned within the training's context decides: often enough, keep; hardly once, divide; between, blend.
        const double turns = llama3->original_context * frequency / (2 * std::numbers::pi);
        const double kept = (turns - llama3->low_freq_factor) / (llama3->high_freq_factor - llama3->low_freq_factor);
        const double blend = kept < 0 ? 0 : kept > 1 ? 1 : kept;
        frequency = blend * frequency + (1 - blend) * frequency / llama3->factor;
      }
    }
    frequencies.push_back(frequency);
  }
  return frequencies;
}

// Turns one head in place.
template <class Real>
void rotate(Real* head, const std::vector<double>& frequencies, double position, double stretch = 1) {  // [head_dim]
  const std::size_t half = frequencies.size();
  for (std::size_t pair = 0; pair < half; ++pair) {
    const double angle = position * frequencies[pair];
    const Real cosine = static_cast<Real>(stretch * std::cos(angle)), sine = static_cast<Real>(stretch * std::sin(angle));
    const Real a = head[pair], b = head[pair + half];
    head[pair] = a * cosine - b * sine;
    head[pair + half] = b * cosine + a * sine;
  }
}

}  // namespace diecast::reference::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
