// What the families' readings of config.json have in common: the numbers that Llama's descendants share, activations, heads, windows,
// and the refusal of a value that would need other arithmetic.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <diecast/error.hpp>
#include <diecast/files/hf_json.hpp>
#include <diecast/spec/spec.hpp>

namespace diecast::hf_detail {

inline Activation activation(const Fields& config, const std::string& key, const std::string& otherwise) {
  const std::string name = config.text(key).value_or(otherwise);
  if (name == "silu" || name == "swish") return Activation::silu;
  if (name == "gelu") return Activation::gelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast")
    return Activation::gelu_tanh;  // one formula, three spellings
  if (name == "relu") return Activation::relu;
  throw Error(config.where() + ": the activation " + in_quotes(name) + " of " + key + " is not supported");
}

inline Head head(const Fields& config, bool tied_by_default) {
  if (config.flag("tie_word_embeddings", tied_by_default)) return TiedHead{};
  return UntiedHead{};
}

inline int head_dim(const Fields& config, int hidden, int heads) {
  if (const auto given = config.integer("head_dim", 1)) return *given;
  if (hidden % heads != 0)
    throw Error(config.where() + ": the hidden size " + std::to_string(hidden) + " cannot be shared by " + std::to_string(heads) +
                " heads, and head_dim is not given");
  return hidden / heads;
}

// The numbers that Llama's descendants share, by the same keys.
struct Defaults {
  int vocab, hidden, width, layers, heads;
  std::optional<int> kv_heads;  // absent: as many as heads
  std::optional<int> head_dim;  // absent: hidden / heads
  int context;
  bool tied;
  const char* activation_key = "hidden_act";
  const char* activation = "silu";
  double rms_epsilon = 1e-6;
};
inline Spec llama_like(const Fields& config, const Defaults& defaults) {
  Spec spec{};
  spec.hidden = config.count("hidden_size", defaults.hidden);
  spec.layers = config.count("num_hidden_layers", defaults.layers);
  spec.vocab = config.count("vocab_size", defaults.vocab);
  spec.context = config.count("max_position_embeddings", defaults.context);
  Attention& attention = spec.attention;
  attention.heads = config.count("num_attention_heads", defaults.heads);
  // A null is as many as heads; a missing key is the family's default.
  attention.kv_heads = config.count("num_key_value_heads",
                                    config.has("num_key_value_heads") ? attention.heads : defaults.kv_heads.value_or(attention.heads));
  attention.head_dim = defaults.head_dim ? config.count("head_dim", *defaults.head_dim) : head_dim(config, spec.hidden, attention.heads);
  spec.norm = RmsNorm{.epsilon = config.positive("rms_norm_eps").value_or(defaults.rms_epsilon)};
  spec.mlp = GatedMlp{.width = config.count("intermediate_size", defaults.width),
                      .activation = activation(config, defaults.activation_key, defaults.activation)};
  spec.head = head(config, defaults.tied);
  return spec;
}

// Which layers see all, from layer_types where the file has it. `every`: the family's pattern, every n-th layer sees all.
inline std::optional<SlidingWindow> window(const Fields& config, int layers, int length, std::optional<int> every) {
  const Json* types = config.find("layer_types");
  if (!types) return SlidingWindow{.length = length, .full_every = every};
  if (!types->is_array() || types->size() != static_cast<std::size_t>(layers))
    throw Error(config.where() + ": layer_types must be a list of " + std::to_string(layers) + " texts, one for each layer");
  const auto sees_all = [&](int layer) {
    const Json& type = (*types)[static_cast<std::size_t>(layer)];
    if (type == "full_attention") return true;
    if (type == "sliding_attention") return false;
    throw Error(config.where() + ": layer_types says " + shown(type) + " of layer " + std::to_string(layer) + ", which is not supported");
  };
  const auto follows = [&](std::optional<int> period) {
    for (int layer = 0; layer < layers; ++layer)
      if (sees_all(layer) != (period && (layer + 1) % *period == 0)) return false;
    return true;
  };
  if (follows(1)) return std::nullopt;
  if (follows(every)) return SlidingWindow{.length = length, .full_every = every};
  if (follows(std::nullopt)) return SlidingWindow{.length = length};
  int first = 0;
  while (!sees_all(first)) ++first;
  if (follows(first + 1)) return SlidingWindow{.length = length, .full_every = first + 1};
  throw Error(config.where() + ": layer_types follows no pattern of every n-th layer seeing all, and no other is supported");
}

// Values that older files leave out and that a wrong answer would hide: their only supported value.
inline void refuse_if(const Fields& config, const std::string& key, bool value) {
  if (config.flag(key) == value)
    throw Error(config.where() + ": " + key + " is " + (value ? "true" : "false") + ", which is not supported");
}

}  // namespace diecast::hf_detail
