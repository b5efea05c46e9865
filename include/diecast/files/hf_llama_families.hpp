// config.json of Llama and of the families that descend from it, whose norm is RMSNorm: Mistral, Qwen 2 and 3, Granite, Phi-3, OLMo 2, Gemma 1 to 3.
// Names and defaults are those of transformers. What a family's code does without asking its config is said where it is done.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <diecast/error.hpp>
#include <diecast/files/hf_config_parts.hpp>
#include <diecast/files/hf_json.hpp>
#include <diecast/files/hf_rope.hpp>
#include <diecast/spec/spec.hpp>

namespace diecast::hf_detail {

inline constexpr Defaults llama_defaults{32'000, 4096, 11'008, 32, 32, {}, {}, 2048, false};
inline constexpr Defaults mistral_defaults{32'000, 4096, 14'336, 32, 32, 8, {}, 131'072, false};
inline constexpr Defaults qwen2_defaults{151'936, 4096, 22'016, 32, 32, 32, {}, 32'768, false};
inline constexpr Defaults gemma2_defaults{256'000, 2304, 9216, 26, 8, 4, 256, 8192, true, "hidden_activation", "gelu_pytorch_tanh"};
inline constexpr Defaults gemma3_defaults{262'208, 2304, 9216, 26, 8, 4, 256, 131'072, true, "hidden_activation", "gelu_pytorch_tanh"};
inline constexpr Defaults qwen3_defaults{151'936, 4096, 22'016, 32, 32, 32, 128, 32'768, false};
inline constexpr Defaults granite_defaults{32'000, 4096, 11'008, 32, 32, {}, {}, 2048, false};
inline constexpr Defaults phi3_defaults{32'064, 3072, 8192, 32, 32, {}, {}, 4096, false, "hidden_act", "silu", 1e-5};
inline constexpr Defaults olmo2_defaults{50'304, 4096, 11'008, 32, 32, {}, {}, 2048, false, "hidden_act", "silu", 1e-5};
inline constexpr Defaults gemma_defaults{256'000, 3072, 24'576, 28, 16, 16, 256, 8192, true, "hidden_act", "gelu_pytorch_tanh"};

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

// Qwen 2 and 3 say it alike.
inline std::optional<SlidingWindow> qwen_window(const Fields& config, int layers) {
  const bool windowed = config.flag("use_sliding_window", false) && (config.find("sliding_window") || !config.has("sliding_window"));
  if (!windowed) return std::nullopt;
  const int length = config.count("sliding_window", 4096);
  if (config.find("layer_types")) return window(config, layers, length, std::nullopt);
  const int first = config.integer("max_window_layers", 0).value_or(28);  // the layers from here on have the window
  if (first != 0 && first < layers)
    throw Error(config.where() + ": use_sliding_window with max_window_layers " + std::to_string(first) + " of " + std::to_string(layers) +
                " layers is not supported: only all layers or none can have the window");
  return first == 0 ? std::optional(SlidingWindow{.length = length}) : std::nullopt;
}

inline Spec qwen2_spec(const Fields& config) {
  Spec spec = llama_like(config, qwen2_defaults);
  spec.attention.qkv_bias = true;  // and no bias on the output: the code of the family, not its config
  spec.attention.window = qwen_window(config, spec.layers);
  spec.position = hf_rope(config, spec);
  return spec;
}

inline Spec qwen3_spec(const Fields& config) {
  Spec spec = llama_like(config, qwen3_defaults);
  spec.attention.qkv_bias = spec.attention.output_bias = config.flag("attention_bias", false);
  spec.attention.qk_norm = QkNorm::each_head;
  spec.attention.window = qwen_window(config, spec.layers);
  spec.position = hf_rope(config, spec);
  return spec;
}

// A factor that changes something: 1 is absent.
inline std::optional<double> multiplier(const Fields& config, const std::string& key) {
  const auto value = config.positive(key);
  return value == 1.0 ? std::nullopt : value;
}

// Llama with four numbers. attention_multiplier takes the place of 1 / sqrt(head_dim), also where the file does not say it.
inline Spec granite_spec(const Fields& config) {
  if (config.text("position_embedding_type").value_or("rope") != "rope")
    throw Error(config.where() + ": position_embedding_type is " + shown(*config.find("position_embedding_type")) + ", which is not supported with model_type granite");
  Spec spec = llama_like(config, granite_defaults);
  spec.attention.qkv_bias = spec.attention.output_bias = config.flag("attention_bias", false);
  std::get<GatedMlp>(spec.mlp).bias = config.flag("mlp_bias", false);
  spec.embedding_scale = multiplier(config, "embedding_multiplier");
  spec.residual_scale = multiplier(config, "residual_multiplier");
  spec.logit_divisor = multiplier(config, "logits_scaling");
  const double scale = config.positive("attention_multiplier").value_or(1.0);
  if (std::abs(scale * std::sqrt(static_cast<double>(spec.attention.head_dim)) - 1.0) > 1e-6) spec.attention.scale = scale;
  spec.position = hf_rope(config, spec);
  return spec;
}

inline Spec phi3_spec(const Fields& config) {
  Spec spec = llama_like(config, phi3_defaults);
  if (config.find("sliding_window")) spec.attention.window = SlidingWindow{.length = config.count("sliding_window")};
  spec.position = hf_rope(config, spec);
  const auto& scaling = std::get<Rope>(spec.position).scaling;
  if (scaling) throw Error(config.where() + ": model_type phi3 with RoPE scaling is not supported: its only kind is longrope");
  return spec;
}

inline Spec olmo2_spec(const Fields& config) {
  Spec spec = llama_like(config, olmo2_defaults);
  if (config.find("clip_qkv")) throw Error(config.where() + ": clip_qkv is not supported");
  spec.attention.qkv_bias = spec.attention.output_bias = config.flag("attention_bias", false);
  spec.attention.qk_norm = QkNorm::all_heads;
  spec.norm_placement = NormPlacement::after;
  spec.position = hf_rope(config, spec);
  return spec;
}

// The first Gemma. Its first files say "gelu" and mean the approximation, as transformers knows.
inline Spec gemma1_spec(const Fields& config) {
  refuse_if(config, "use_bidirectional_attention", true);
  Spec spec = llama_like(config, gemma_defaults);
  auto& activation = std::get<GatedMlp>(spec.mlp).activation;
  if (activation == Activation::gelu) activation = Activation::gelu_tanh;
  // Some files have this key as well; older code went by it, newer code does not.
  if (config.find("hidden_activation") && hf_detail::activation(config, "hidden_activation", "") != activation)
    throw Error(config.where() + ": hidden_activation is " + shown(*config.find("hidden_activation")) + " and hidden_act is something else: which is meant cannot be known");
  spec.attention.qkv_bias = spec.attention.output_bias = config.flag("attention_bias", false);
  spec.embedding_scale = std::sqrt(static_cast<double>(spec.hidden));
  spec.position = hf_rope(config, spec);
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
  spec.norm_placement = NormPlacement::before_and_after;
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
  spec.attention.qk_norm = QkNorm::each_head;
  auto pattern = config.integer("sliding_window_pattern", 1);
  if (!pattern) pattern = config.integer("_sliding_window_pattern", 1);
  spec.attention.window = window(config, spec.layers, config.count("sliding_window", 4096), pattern.value_or(6));
  if (spec.attention.window && spec.attention.window->full_every == 1) spec.attention.window.reset();  // every layer sees all
  const auto [full, local] = hf_gemma3_ropes(config, spec);
  spec.position = full;
  if (spec.attention.window && local != full) spec.attention.window->rope = local;
  return spec;
}

}  // namespace diecast::hf_detail
