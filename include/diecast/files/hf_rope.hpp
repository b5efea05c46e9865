// RoPE as config.json spells it. The base lies at the top level, or inside rope_parameters (transformers 5) or rope_scaling;
// the kind of scaling is called rope_type or, earlier, type. A kind that we do not compute is refused by its name.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include <diecast/error.hpp>
#include <diecast/files/hf_json.hpp>
#include <diecast/spec/spec.hpp>

namespace diecast {

namespace hf_detail {

// 0.1 m ln(factor) + 1, by which YaRN's authors stretch Q and K.
inline double yarn_stretch(double factor, double multiplier) { return factor > 1 ? 0.1 * multiplier * std::log(factor) + 1 : 1.0; }

// As transformers computes it. What gives the usual stretch is left out, so that the spec is the same however the file says it.
inline YarnScaling yarn_scaling(const Fields& rope, const Fields& config, const Spec& spec) {
  if (!rope.flag("truncate", true)) throw Error(rope.where() + ": truncate is false, which is not supported with YaRN");
  auto original = config.integer("original_max_position_embeddings", 1);
  if (!original) original = rope.integer("original_max_position_embeddings", 1);
  if (!original) original = spec.context;
  YarnScaling yarn{.factor = rope.positive("factor").value_or(static_cast<double>(spec.context) / *original), .original_context = *original};
  yarn.beta_fast = rope.positive("beta_fast").value_or(yarn.beta_fast);
  yarn.beta_slow = rope.positive("beta_slow").value_or(yarn.beta_slow);
  std::optional<double> stretch = rope.positive("attention_factor");
  const auto mscale = rope.positive("mscale"), all_dims = rope.positive("mscale_all_dim");
  if (!stretch && mscale && all_dims) stretch = yarn_stretch(yarn.factor, *mscale) / yarn_stretch(yarn.factor, *all_dims);
  if (stretch && *stretch != yarn_stretch(yarn.factor, 1)) yarn.attention_factor = stretch;
  return yarn;
}

// The scaling that `rope` (a rope_parameters or rope_scaling object) asks for; `config` has what older files keep at the top.
inline std::optional<RopeScaling> rope_scaling(const Fields& rope, const Fields& config, const Spec& spec) {
  auto kind = rope.text("rope_type");
  if (!kind) kind = rope.text("type");
  if (!kind || *kind == "default") return std::nullopt;
  if (*kind == "linear") return LinearScaling{.factor = rope.needed_positive("factor")};
  if (*kind == "llama3") {
    // transformers takes the top level's original_max_position_embeddings first, and the context when nobody says it.
    auto original = config.integer("original_max_position_embeddings", 1);
    if (!original) original = rope.integer("original_max_position_embeddings", 1);
    if (!original) original = spec.context;
    const Llama3Scaling scaling{.factor = rope.needed_positive("factor"),
                                .low_freq_factor = rope.needed_positive("low_freq_factor"),
                                .high_freq_factor = rope.needed_positive("high_freq_factor"),
                                .original_context = *original};
    if (!(scaling.high_freq_factor > scaling.low_freq_factor))
      throw Error(rope.where() + ": high_freq_factor is " + std::to_string(scaling.high_freq_factor) +
                  ", and must be greater than low_freq_factor, " + std::to_string(scaling.low_freq_factor));
    return scaling;
  }
  if (*kind == "yarn") return yarn_scaling(rope, config, spec);
  throw Error(rope.where() + ": the RoPE scaling " + in_quotes(*kind) + " is not supported; supported are default, linear, llama3 and yarn");
}

// `theta`: what the config's top level says, or the family's default. A base inside the object wins, as in transformers.
inline Rope rope_of(const Fields& rope, const Fields& config, double theta, const Spec& spec, std::optional<double> usual_part = {}) {
  Rope result{.theta = rope.positive("rope_theta").value_or(theta), .scaling = rope_scaling(rope, config, spec)};
  auto part = rope.positive("partial_rotary_factor");
  if (!part) part = config.positive("partial_rotary_factor");
  if (!part) part = usual_part;
  if (part && *part != 1.0) {
    if (!(*part < 1.0)) throw Error(rope.where() + ": partial_rotary_factor is " + std::to_string(*part) + ", and must be at most 1");
    result.rotary_dim = static_cast<int>(spec.attention.head_dim * *part);
  }
  return result;
}

// The object with the RoPE values: rope_scaling before rope_parameters, as in transformers; an empty one where there is neither.
inline const Json& rope_object(const Fields& config) {
  static const Json nothing = Json::object();
  for (const char* key : {"rope_scaling", "rope_parameters"})
    if (const Json* value = config.find(key); value && !value->empty()) return *value;
  return nothing;
}

}  // namespace hf_detail

// One RoPE for all layers. Of `spec`, the head size and the context must be there already. `usual`: what families do who turn a part
// of each head, where the config does not say it.
struct RopeDefaults {
  double theta = 10'000;
  std::optional<double> part{};
};
inline Rope hf_rope(const Fields& config, const Spec& spec, const RopeDefaults& usual = {}) {
  const Json& object = hf_detail::rope_object(config);
  const Fields rope(object, config.where() + ": rope_parameters");
  if (rope.find("full_attention") || rope.find("sliding_attention"))
    throw Error(rope.where() + " has one RoPE for each kind of layer, which is known only of gemma3");
  return hf_detail::rope_of(rope, config, config.positive("rope_theta").value_or(usual.theta), spec, usual.part);
}

// Gemma 3 has two: of the layers that see all, and of those with a window.
inline std::pair<Rope, Rope> hf_gemma3_ropes(const Fields& config, const Spec& spec) {
  const double theta = config.positive("rope_theta").value_or(1'000'000.0);
  const double local_theta = config.positive("rope_local_base_freq").value_or(10'000.0);
  static const Json nothing = Json::object();
  const Json* full = &nothing;
  const Json* local = &nothing;
  const Json* parameters = config.find("rope_parameters");
  const std::string where = config.where() + ": rope_parameters";
  if (parameters) {
    const Fields both(*parameters, where);
    if (both.find("full_attention") || both.find("sliding_attention")) {
      if (const Json* value = both.find("full_attention")) full = value;
      if (const Json* value = both.find("sliding_attention")) local = value;
    } else {
      full = parameters;
    }
  }
  if (const Json* scaling = config.find("rope_scaling")) full = scaling;  // older files; of the layers that see all only
  return {hf_detail::rope_of(Fields(*full, where + ": full_attention"), config, theta, spec),
          hf_detail::rope_of(Fields(*local, where + ": sliding_attention"), config, local_theta, spec)};
}

}  // namespace diecast
