// RoPE out of a GGUF file. Llama 3's scaling comes as a tensor of divisors, one a pair, that the converter worked out;
// we look for the parameters that give exactly these divisors, so that the spec is the one that config.json states.
// Source: llama.cpp (llama-model.cpp, convert_hf_to_gguf.py), Llama 3.1's reference for the blend.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <diecast/files/decode.hpp>
#include <diecast/files/gguf.hpp>
#include <diecast/files/gguf_tensors.hpp>
#include <diecast/spec/spec.hpp>
#include <diecast/text.hpp>

namespace diecast {
namespace gguf_detail {

// What divides the frequency of pair i: 1 for short waves, factor for long ones, between them a blend linear in context / wavelength.
inline double llama3_divisor(const Llama3Scaling& scaling, double theta, int rotary_dim, int pair) {
  const double frequency = std::pow(theta, -2.0 * pair / rotary_dim);
  const double turns = scaling.original_context * frequency / (2.0 * std::numbers::pi);  // in the original context
  if (turns > scaling.high_freq_factor) return 1.0;
  if (turns < scaling.low_freq_factor) return scaling.factor;
  const double smooth = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
  return 1.0 / ((1.0 - smooth) / scaling.factor + smooth);
}

// Absent: the divisors are none that Llama 3's formula gives for parameters anybody has published.
inline std::optional<Llama3Scaling> find_llama3_scaling(const std::vector<float>& divisors, double theta, std::optional<int> original_context) {
  const int rotary_dim = 2 * static_cast<int>(divisors.size());
  const double factor = shortest_decimal(divisors.back());  // the longest wave has the whole factor
  std::vector<int> contexts{8192};
  for (int context = 1024; context <= 1 << 20; context *= 2) contexts.push_back(context);
  if (original_context) contexts = {*original_context};
  for (const int context : contexts) {
    for (const double high : {4.0, 2.0, 8.0, 16.0, 32.0}) {
      const Llama3Scaling candidate{.factor = factor, .low_freq_factor = 1.0, .high_freq_factor = high, .original_context = context};
      bool fits = true;
      for (std::size_t i = 0; i < divisors.size() && fits; ++i) {
        const double expected = llama3_divisor(candidate, theta, rotary_dim, static_cast<int>(i));
        fits = std::abs(static_cast<double>(divisors[i]) / expected - 1.0) < 1e-4;  // the converter computes in float
      }
      if (fits) return candidate;
    }
  }
  return std::nullopt;
}

// The keys of YaRN. The usual stretch of Q and K is 0.1 ln(factor) + 1, and three keys could change it:
// - attn_factor: llama.cpp (llama-context.cpp) multiplies the stretch by it, older files have it with the stretch in it already; only 1 is clear.
// - yarn_attn_factor: the converter (conversion/base.py) writes config.json's attention_factor there, which in transformers is the whole stretch;
//   llama.cpp puts the usual one in its place for these architectures. Only where it is the usual one do they agree.
// - yarn_log_multiplier: the converters of other architectures write mscale_all_dim there, in two units.
template <typename Keys>
YarnScaling read_yarn(Keys& keys, std::optional<double> factor, int original_context) {
  YarnScaling yarn{.factor = factor.value_or(1.0), .original_context = original_context};
  yarn.beta_fast = keys.positive("rope.scaling.yarn_beta_fast").value_or(yarn.beta_fast);
  yarn.beta_slow = keys.positive("rope.scaling.yarn_beta_slow").value_or(yarn.beta_slow);
  for (const auto* name : {"rope.scaling.attn_factor", "rope.scaling.yarn_ext_factor"}) {
    const auto value = keys.optional_number(name);
    if (value && *value != 1.0) keys.file().fail("the key '" + keys.name(name) + "' is " + text_of(*value) + "; only 1 is supported");
  }
  keys.must_be_zero("rope.scaling.yarn_log_multiplier", "YaRN with a multiplier of the logarithm");
  const double usual = yarn.factor > 1 ? 0.1 * std::log(yarn.factor) + 1 : 1.0;
  const auto stretch = keys.optional_number("rope.scaling.yarn_attn_factor");
  if (stretch && !(std::abs(*stretch - usual) < 1e-5)) {
    keys.file().fail("the key '" + keys.name("rope.scaling.yarn_attn_factor") + "' is " + text_of(*stretch) + "; only what YaRN's formula gives is supported, " +
                     text_of(usual));
  }
  return yarn;
}

template <typename Keys>
std::optional<RopeScaling> read_rope_scaling(Keys& keys, GgufTensors& tensors, double theta, int rotary_dim, int context) {
  const Gguf& file = keys.file();
  const auto type = file.text(keys.name("rope.scaling.type"));
  auto factor = keys.positive("rope.scaling.factor");
  if (const auto old = keys.positive("rope.scale_linear"); old && !factor) factor = old;  // the key's name before it was renamed
  const auto original_context = keys.optional_whole("rope.scaling.original_context_length");
  if (type && *type != "none" && *type != "linear" && *type != "yarn") {
    file.fail("the RoPE scaling " + in_marks(*type) + " is not supported; linear, llama3 and yarn are");
  }
  const auto yarn = read_yarn(keys, factor, original_context.value_or(context));
  std::optional<RopeScaling> scaling;
  if (type == "yarn") scaling = yarn;
  else if (factor && *factor != 1.0 && type != "none") scaling = LinearScaling{*factor};

  for (const auto* name : {"rope_factors_long.weight", "rope_factors_short.weight"}) {
    if (tensors.has(name)) file.fail("the tensor '" + std::string(name) + "' stands for the RoPE scaling 'longrope', which is not supported");
  }
  if (!tensors.has("rope_freqs.weight")) return scaling;
  const Tensor tensor = tensors.vector("rope_freqs.weight", rotary_dim / 2);
  std::vector<float> divisors(static_cast<std::size_t>(rotary_dim / 2));
  decode_tensor(tensor, divisors);
  if (std::ranges::all_of(divisors, [](float divisor) { return divisor == 1.0F; })) return scaling;
  if (scaling) file.fail("the file has linear or YaRN scaling of RoPE and the tensor 'rope_freqs.weight' as well; both together are not supported");
  const auto llama3 = find_llama3_scaling(divisors, theta, original_context);
  if (!llama3) file.fail("the divisors in the tensor 'rope_freqs.weight' are none of Llama 3's scaling; others are not supported");
  return *llama3;
}

template <typename Keys>
Rope read_rope(Keys& keys, GgufTensors& tensors, int head_dim, int context) {
  const int rotary_dim = keys.optional_whole("rope.dimension_count").value_or(head_dim);
  if (rotary_dim > head_dim || rotary_dim % 2 != 0) {
    keys.file().fail("RoPE turns " + std::to_string(rotary_dim) + " values of a head that has " + std::to_string(head_dim) + "; it must be an even number of them");
  }
  Rope rope{.theta = keys.positive("rope.freq_base").value_or(10000.0)};
  if (rotary_dim != head_dim) rope.rotary_dim = rotary_dim;
  rope.scaling = read_rope_scaling(keys, tensors, rope.theta, rotary_dim, context);
  return rope;
}

}  // namespace gguf_detail
}  // namespace diecast
