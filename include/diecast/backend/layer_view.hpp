// What a layer sees of the sequence, and how it turns Q and K: the same for every backend.
// Frequencies are computed in double and rounded once, where they are used, so that long contexts lose nothing.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <variant>
#include <vector>

#include <diecast/spec/spec.hpp>

namespace diecast {

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

// What a layer sees: all positions, or a window of the last ones; and how it turns Q and K.
struct LayerView {
  std::optional<int> window;
  std::vector<double> frequencies;  // empty: no RoPE
  double stretch = 1;
};

inline LayerView view_of(const Spec& spec, int layer) {
  const auto& window = spec.attention.window;
  const bool windowed = window && !(window->full_every && (layer + 1) % *window->full_every == 0);
  LayerView view;
  if (windowed) view.window = window->length;
  if (const auto* model = std::get_if<Rope>(&spec.position)) {
    const Rope& rope = windowed && window->rope ? *window->rope : *model;
    view.frequencies = inverse_frequencies(rope, spec.attention.head_dim);
    view.stretch = stretch_of(rope);
  }
  return view;
}

}  // namespace diecast
