// config.json of the families whose norm is LayerNorm: GPT-2, GPT-NeoX, StableLM, StarCoder 2.
// Names and defaults are those of transformers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <diecast/error.hpp>
#include <diecast/files/hf_config_parts.hpp>
#include <diecast/files/hf_json.hpp>
#include <diecast/files/hf_rope.hpp>
#include <diecast/spec/spec.hpp>

namespace diecast::hf_detail {

inline constexpr Defaults stablelm_defaults{50'304, 2560, 6912, 32, 32, 32, {}, 4096, false};
inline constexpr Defaults starcoder2_defaults{49'152, 3072, 12'288, 30, 24, 2, {}, 4096, true, "hidden_act", "gelu_pytorch_tanh"};
inline constexpr Defaults gpt_neox_defaults{50'432, 6144, 24'576, 44, 64, {}, {}, 2048, false, "hidden_act", "gelu"};

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

inline Spec gpt_neox_spec(const Fields& config) {
  Spec spec = llama_like(config, gpt_neox_defaults);
  Attention& attention = spec.attention;
  if (attention.kv_heads != attention.heads || std::int64_t{attention.heads} * attention.head_dim != spec.hidden)
    throw Error(config.where() + ": " + std::to_string(attention.heads) + " heads and " + std::to_string(attention.kv_heads) + " KV heads of " +
                std::to_string(attention.head_dim) + " values do not make the hidden size " + std::to_string(spec.hidden) + ", as model_type gpt_neox needs");
  attention.qkv_bias = attention.output_bias = config.flag("attention_bias", true);
  spec.norm = LayerNorm{.epsilon = config.positive("layer_norm_eps").value_or(1e-5)};
  const GatedMlp mlp = std::get<GatedMlp>(spec.mlp);
  spec.mlp = PlainMlp{.width = mlp.width, .activation = mlp.activation, .bias = true};
  spec.residual = config.flag("use_parallel_residual", true) ? Residual::parallel : Residual::sequential;
  spec.position = hf_rope(config, spec, {.theta = config.positive("rotary_emb_base").value_or(10'000.0), .part = config.positive("rotary_pct").value_or(0.25)});
  return spec;
}

inline Spec stablelm_spec(const Fields& config) {
  refuse_if(config, "qk_layernorm", true);
  Spec spec = llama_like(config, stablelm_defaults);
  spec.attention.qkv_bias = config.flag("use_qkv_bias", false);
  spec.norm = LayerNorm{.epsilon = config.positive("layer_norm_eps").value_or(1e-5)};
  if (config.flag("use_parallel_residual", false)) spec.residual = Residual::parallel_shared_norm;
  spec.position = hf_rope(config, spec, {.part = 0.25});
  return spec;
}

inline Spec starcoder2_spec(const Fields& config) {
  Spec spec = llama_like(config, starcoder2_defaults);
  const bool bias = config.flag("use_bias", true);
  spec.attention.qkv_bias = spec.attention.output_bias = bias;
  spec.norm = LayerNorm{.epsilon = config.positive("norm_epsilon").value_or(1e-5)};
  const GatedMlp mlp = std::get<GatedMlp>(spec.mlp);
  spec.mlp = PlainMlp{.width = mlp.width, .activation = mlp.activation, .bias = bias};
  if (config.find("sliding_window")) spec.attention.window = SlidingWindow{.length = config.count("sliding_window")};
  spec.position = hf_rope(config, spec);
  return spec;
}

}  // namespace diecast::hf_detail
