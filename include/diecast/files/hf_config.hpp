// config.json -> Spec, for each family by the names and the defaults that transformers gives to that model_type.
// Whatever would need other arithmetic than a Spec can say is refused by its name, before any other value is looked at.
// Only numbers are made here; nothing is allocated by them.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <diecast/error.hpp>
#include <diecast/files/hf_json.hpp>
#include <diecast/files/hf_rope.hpp>
#include <diecast/spec/check.hpp>
#include <diecast/spec/spec.hpp>

namespace diecast {

namespace hf_detail {

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
};
inline constexpr Defaults llama_defaults{32'000, 4096, 11'008, 32, 32, {}, {}, 2048, false};
inline constexpr Defaults mistral_defaults{32'000, 4096, 14'336, 32, 32, 8, {}, 131'072, false};
inline constexpr Defaults qwen2_defaults{151'936, 4096, 22'016, 32, 32, 32, {}, 32'768, false};
inline constexpr Defaults gemma2_defaults{256'000, 2304, 9216, 26, 8, 4, 256, 8192, true, "hidden_activation", "gelu_pytorch_tanh"};
inline constexpr Defaults gemma3_defaults{262'208, 2304, 9216, 26, 8, 4, 256, 131'072, true, "hidden_activation", "gelu_pytorch_tanh"};

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
  spec.norm = RmsNorm{.epsilon = config.positive("rms_norm_eps").value_or(1e-6)};
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

inline Spec llama_spec(const Fields& config) {
  Spec spec = llama_like(config, llama_defaults);
  spec.attention.qkv_bias = spec.attention.output_bias = config.flag("attention_bias", false);
  std::get<GatedMlp>(spec.mlp).bias = config.flag("mlp_bias", false);
  spec.position = hf_rope(config, spec);
  return spec;
}

inline Spec mistral_spec(const Fields& config) {
  Spec spec = llama_like(config, mistral_defaults);
  if (config.find("layer_types")) throw Error(config.where() + ": layer_types is not supported with model_type mistral");
  if (config.find("sliding_window") || !config.has("sliding_window"))
    spec.attention.window = SlidingWindow{.length = config.count("sliding_window", 4096)};
  spec.position = hf_rope(config, spec);
  return spec;
}

inline Spec qwen2_spec(const Fields& config) {
  Spec spec = llama_like(config, qwen2_defaults);
  spec.attention.qkv_bias = true;  // and no bias on the output: the code of the family, not its config
  const bool windowed = config.flag("use_sliding_window", false) && (config.find("sliding_window") || !config.has("sliding_window"));
  if (windowed) {
    const int length = config.count("sliding_window", 4096);
    if (config.find("layer_types")) {
      spec.attention.window = window(config, spec.layers, length, std::nullopt);
    } else {
      const int first = config.integer("max_window_layers", 0).value_or(28);  // the layers from here on have the window
      if (first != 0 && first < spec.layers)
        throw Error(config.where() + ": use_sliding_window with max_window_layers " + std::to_string(first) + " of " +
                    std::to_string(spec.layers) + " layers is not supported: only all layers or none can have the window");
      if (first == 0) spec.attention.window = SlidingWindow{.length = length};
    }
  }
  spec.position = hf_rope(config, spec);
  return spec;
}

inline Spec gpt2_spec(const Fields& config) {
  refuse_if(config, "scale_attn_by_inverse_layer_idx", true);
  refuse_if(config, "add_cross_attention", true);
  Spec spec{};
  spec.hidden = config.count("n_embd", 768);
  spec.layers = config.count("n_layer", 12);
  spec.vocab = config.count("vocab_size", 50'257);
  spec.context = config.count("n_positions", 1024);
  const int heads = config.count("n_head", 12);
  if (spec.hidden % heads != 0)
    throw Error(config.where() + ": n_embd " + std::to_string(spec.hidden) + " cannot be shared by n_head " + std::to_string(heads));
  spec.attention = {.heads = heads, .kv_heads = heads, .head_dim = spec.hidden / heads, .qkv_bias = true, .output_bias = true};
  if (!config.flag("scale_attn_weights", true)) spec.attention.scale = 1.0;
  spec.position = Absolute{.positions = spec.context};
  spec.norm = LayerNorm{.epsilon = config.positive("layer_norm_epsilon").value_or(1e-5)};
  const std::int64_t width = config.integer("n_inner", 1).value_or(0) ? *config.integer("n_inner", 1) : std::int64_t{4} * spec.hidden;
  if (width > Fields::largest)
    throw Error(config.where() + ": n_embd " + std::to_string(spec.hidden) + " makes an MLP of " + std::to_string(width) +
                ", and the limit is " + std::to_string(Fields::largest));
  spec.mlp = PlainMlp{.width = static_cast<int>(width), .activation = activation(config, "activation_function", "gelu_new"), .bias = true};
  spec.head = head(config, true);
  return spec;
}

// What Gemma 2 and 3 have in common.
inline Spec gemma_spec(const Fields& config, const Defaults& defaults) {
  refuse_if(config, "use_bidirectional_attention", true);
  Spec spec = llama_like(config, defaults);
  Attention& attention = spec.attention;
  attention.qkv_bias = attention.output_bias = config.flag("attention_bias", false);
  const double scalar = config.positive("query_pre_attn_scalar").value_or(256.0);
  if (scalar != attention.head_dim) attention.scale = 1.0 / std::sqrt(scalar);
  spec.after_norms = true;
  spec.embedding_scale = std::sqrt(static_cast<double>(spec.hidden));
  if (config.has("sliding_window") && !config.find("sliding_window"))
    throw Error(config.where() + ": sliding_window is null, and must be a whole number from 1");
  return spec;
}

inline Spec gemma2_spec(const Fields& config) {
  Spec spec = gemma_spec(config, gemma2_defaults);
  spec.attention.soft_cap = config.has("attn_logit_softcapping") ? config.positive("attn_logit_softcapping") : 50.0;
  spec.logit_soft_cap = config.has("final_logit_softcapping") ? config.positive("final_logit_softcapping") : 30.0;
  spec.attention.window = window(config, spec.layers, config.count("sliding_window", 4096), 2);
  spec.position = hf_rope(config, spec);
  return spec;
}

inline Spec gemma3_spec(const Fields& config) {
  Spec spec = gemma_spec(config, gemma3_defaults);
  // transformers keeps this value and does not use it: which of the two is meant cannot be known.
  if (config.find("attn_logit_softcapping"))
    throw Error(config.where() + ": attn_logit_softcapping is not supported with model_type gemma3");
  spec.logit_soft_cap = config.positive("final_logit_softcapping");
  spec.attention.qk_norm = true;
  auto pattern = config.integer("sliding_window_pattern", 1);
  if (!pattern) pattern = config.integer("_sliding_window_pattern", 1);
  spec.attention.window = window(config, spec.layers, config.count("sliding_window", 4096), pattern.value_or(6));
  if (spec.attention.window && spec.attention.window->full_every == 1) spec.attention.window.reset();  // every layer sees all
  const auto [full, local] = hf_gemma3_ropes(config, spec);
  spec.position = full;
  if (spec.attention.window && local != full) spec.attention.window->rope = local;
  return spec;
}

// Kinds of models that no number of the config could make run.
inline void refuse_other_kinds(const Fields& config) {
  const std::string kind = "model_type " + (config.find("model_type") ? shown(*config.find("model_type")) : "(none)");
  if (config.find("is_encoder_decoder") && config.flag("is_encoder_decoder", false))
    throw Error(config.where() + ": " + kind + " is an encoder-decoder model, and only decoder-only models are supported");
  if (const Json* quantization = config.find("quantization_config")) {
    const Json* method = quantization->is_object() && quantization->contains("quant_method") ? &(*quantization)["quant_method"] : nullptr;
    throw Error(config.where() + ": the weights are quantized" + (method ? " by " + shown(*method) : std::string{}) +
                " (quantization_config), which is not supported; a GGUF can be");
  }
  for (const char* key : {"num_local_experts", "num_experts", "n_routed_experts", "num_experts_per_tok", "moe_intermediate_size"})
    if (config.find(key))
      throw Error(config.where() + ": " + kind + " is a mixture of experts (" + key + " is " + shown(*config.find(key)) +
                  "), which is not supported");
  for (const char* key : {"vision_config", "audio_config", "vision_tower", "mm_vision_tower", "speech_config"})
    if (config.find(key))
      throw Error(config.where() + ": " + kind + " has a part for images or sound (" + key + "), which is not supported");
}

}  // namespace hf_detail

inline std::string hf_model_type(const Json& config, const std::string& where) {
  const Fields fields(config, where);
  fields.need("model_type");
  return *fields.text("model_type");
}

namespace hf_detail {

inline Spec spec_of(const Fields& config, const std::string& type) {
  if (type == "llama") return llama_spec(config);
  if (type == "mistral") return mistral_spec(config);
  if (type == "qwen2") return qwen2_spec(config);
  if (type == "gpt2") return gpt2_spec(config);
  if (type == "gemma2") return gemma2_spec(config);
  if (type == "gemma3_text") return gemma3_spec(config);
  if (type == "gemma3") {
    if (!config.find("text_config")) return gemma3_spec(config);
    const Fields text = config.object("text_config");
    refuse_other_kinds(text);
    return gemma3_spec(text);
  }
  throw Error(config.where() + ": the architecture " + in_quotes(type) +
              " (model_type) is not supported; supported are gpt2, llama, mistral, qwen2, gemma2 and gemma3");
}

}  // namespace hf_detail

// `where` opens every sentence: the path of config.json. What comes back is a possible model (spec/check.hpp).
inline Spec hf_spec(const Json& config, const std::string& where) {
  const Fields fields(config, where);
  hf_detail::refuse_other_kinds(fields);
  const Spec spec = hf_detail::spec_of(fields, hf_model_type(config, where));
  try {
    check_file(spec);
  } catch (const Error& impossible) {
    throw Error(where + ": " + impossible.what());
  }
  return spec;
}

}  // namespace diecast
