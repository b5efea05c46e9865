// The canonical weights of a model from the tensors of its folder: functions for the names of GPT-2, of GPT-NeoX, and of Llama
// and its descendants. What the spec asks for must be there in the right shape, and nothing unknown may be left over.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <diecast/error.hpp>
#include <diecast/files/hf_tensors.hpp>
#include <diecast/files/safetensors.hpp>
#include <diecast/files/weights.hpp>
#include <diecast/spec/spec.hpp>

namespace diecast {

namespace hf_detail {

// Sizes as 64 bits: products of two numbers of a spec do not overflow.
struct Sizes {
  std::int64_t hidden, vocab, q, kv, head_dim, q_norm, k_norm, mlp;
  explicit Sizes(const Spec& spec)
      : hidden(spec.hidden),
        vocab(spec.vocab),
        q(std::int64_t{spec.attention.heads} * spec.attention.head_dim),
        kv(std::int64_t{spec.attention.kv_heads} * spec.attention.head_dim),
        head_dim(spec.attention.head_dim),
        q_norm(spec.attention.qk_norm == QkNorm::all_heads ? q : head_dim),
        k_norm(spec.attention.qk_norm == QkNorm::all_heads ? kv : head_dim),
        mlp(std::visit([](const auto& one) { return one.width; }, spec.mlp)) {}
};

// The file's own head against what the spec says: a tied head may be stored too if it is the embedding.
inline void put_head(Weights& weights, Tensors& tensors, const Spec& spec, const std::string& name = "lm_head.weight") {
  if (std::holds_alternative<UntiedHead>(spec.head)) {
    if (!tensors.has(name))
      throw Error(tensors.where() + ": tensor " + in_quotes(name) +
                  " is missing, and config.json says that the head is not tied to the embedding (tie_word_embeddings false)");
    weights.head = tensors.matrix(name, spec.vocab, spec.hidden);
  } else if (tensors.has(name)) {
    const Tensor head = tensors.matrix(name, spec.vocab, spec.hidden);
    if (!same_values(head, weights.embedding))
      throw Error(tensors.where() + ": tensors " + in_quotes(head.name) + " and " + in_quotes(weights.embedding.name) +
                  " differ, and config.json says that they are the same (tie_word_embeddings true)");
  }
}

inline bool ends_with_number_then(std::string_view name, std::string_view before, std::string_view after) {
  if (!name.starts_with(before) || !name.ends_with(after) || name.size() <= before.size() + after.size()) return false;
  const std::string_view number = name.substr(before.size(), name.size() - before.size() - after.size());
  return number.find_first_not_of("0123456789") == std::string_view::npos;
}

// Some outputs of a product of several, nothing copied.
inline LinearWeights rows_of(const LinearWeights& whole, std::int64_t first, std::int64_t rows) {
  LinearWeights one{part(whole.weight, first, rows), {}};
  if (whole.bias) one.bias = part(*whole.bias, first, rows);
  return one;
}

inline Weights gpt2_weights(Tensors& tensors, const Spec& spec) {
  const Sizes size(spec);
  const auto norm = [&](const std::string& name) {
    return NormWeights{tensors.vector(name + ".weight", size.hidden), tensors.vector(name + ".bias", size.hidden)};
  };
  // Conv1D stores [in, out].
  const auto conv1d = [&](const std::string& name, std::int64_t out, std::int64_t in) {
    return LinearWeights{transposed(tensors.matrix(name + ".weight", in, out)), tensors.vector(name + ".bias", out)};
  };
  Weights weights;
  weights.embedding = tensors.matrix("wte.weight", size.vocab, size.hidden);
  weights.position = tensors.matrix("wpe.weight", std::get<Absolute>(spec.position).positions, size.hidden);
  for (int i = 0; i < spec.layers; ++i) {
    const std::string in = "h." + std::to_string(i) + ".";
    LayerWeights layer;
    layer.attention_norm = norm(in + "ln_1");
    const LinearWeights qkv = conv1d(in + "attn.c_attn", size.q + 2 * size.kv, size.hidden);
    layer.q = rows_of(qkv, 0, size.q);
    layer.k = rows_of(qkv, size.q, size.kv);
    layer.v = rows_of(qkv, size.q + size.kv, size.kv);
    layer.output = conv1d(in + "attn.c_proj", size.hidden, size.q);
    layer.mlp_norm = norm(in + "ln_2");
    layer.up = conv1d(in + "mlp.c_fc", size.mlp, size.hidden);
    layer.down = conv1d(in + "mlp.c_proj", size.hidden, size.mlp);
    weights.layers.push_back(std::move(layer));
  }
  weights.final_norm = norm("ln_f");
  put_head(weights, tensors, spec);
  // Causal masks, which older files store.
  tensors.refuse_leftovers([](const std::string& name) {
    return ends_with_number_then(name, "h.", ".attn.bias") || ends_with_number_then(name, "h.", ".attn.masked_bias");
  });
  return weights;
}

// Q, K and V lie together head by head: rows [heads, 3, head_dim]. `which`: 0, 1 or 2.
inline LinearWeights gathered(const LinearWeights& whole, const Attention& attention, int which) {
  LinearWeights one{gathered_rows(whole.weight, attention.heads, 3, which, attention.head_dim), {}};
  if (whole.bias) one.bias = gathered_rows(*whole.bias, attention.heads, 3, which, attention.head_dim);
  return one;
}

inline Weights gpt_neox_weights(Tensors& tensors, const Spec& spec) {
  const Sizes size(spec);
  const Attention& attention = spec.attention;
  const auto norm = [&](const std::string& name) {
    return NormWeights{tensors.vector(name + ".weight", size.hidden), tensors.vector(name + ".bias", size.hidden)};
  };
  const auto linear = [&](const std::string& name, std::int64_t out, std::int64_t in, bool bias) {
    LinearWeights one{tensors.matrix(name + ".weight", out, in), {}};
    if (bias) one.bias = tensors.vector(name + ".bias", out);
    return one;
  };
  Weights weights;
  weights.embedding = tensors.matrix("embed_in.weight", size.vocab, size.hidden);
  for (int i = 0; i < spec.layers; ++i) {
    const std::string in = "layers." + std::to_string(i) + ".";
    LayerWeights layer;
    layer.attention_norm = norm(in + "input_layernorm");
    const LinearWeights qkv = linear(in + "attention.query_key_value", 3 * size.q, size.hidden, attention.qkv_bias);
    layer.q = gathered(qkv, attention, 0);
    layer.k = gathered(qkv, attention, 1);
    layer.v = gathered(qkv, attention, 2);
    layer.output = linear(in + "attention.dense", size.hidden, size.q, attention.output_bias);
    layer.mlp_norm = norm(in + "post_attention_layernorm");
    layer.up = linear(in + "mlp.dense_h_to_4h", size.mlp, size.hidden, true);
    layer.down = linear(in + "mlp.dense_4h_to_h", size.hidden, size.mlp, true);
    weights.layers.push_back(std::move(layer));
  }
  weights.final_norm = norm("final_layer_norm");
  // Published files have the one name, what transformers 5 saves the other.
  put_head(weights, tensors, spec, tensors.has("lm_head.weight") ? "lm_head.weight" : "embed_out.weight");
  // Causal masks and RoPE's frequencies, which older files store.
  tensors.refuse_leftovers([](const std::string& name) {
    return ends_with_number_then(name, "layers.", ".attention.bias") || ends_with_number_then(name, "layers.", ".attention.masked_bias") ||
           ends_with_number_then(name, "layers.", ".attention.rotary_emb.inv_freq");
  });
  return weights;
}

// Llama and its descendants. `one_plus_w`: norms are stored as w of 1 + w (Gemma).
// Phi-3 stores Q, K and V as one matrix, gate and up as another; StarCoder 2 has names of its own for the plain MLP.
inline Weights llama_weights(Tensors& tensors, const Spec& spec, bool one_plus_w) {
  const Sizes size(spec);
  const Attention& attention = spec.attention;
  const bool mlp_bias = std::visit([](const auto& mlp) { return mlp.bias; }, spec.mlp);
  const auto factor = [&](const std::string& name, std::int64_t cols) {
    const Tensor stored = tensors.vector(name, cols);
    return one_plus_w ? one_plus(stored) : stored;
  };
  const auto* layer_norm = std::get_if<LayerNorm>(&spec.norm);
  const auto norm = [&](const std::string& name) {
    NormWeights one{factor(name + ".weight", size.hidden), {}};
    if (layer_norm && layer_norm->bias) one.bias = tensors.vector(name + ".bias", size.hidden);
    return one;
  };
  const auto linear = [&](const std::string& name, std::int64_t out, std::int64_t in, bool bias) {
    LinearWeights one{tensors.matrix(name + ".weight", out, in), {}};
    if (bias) one.bias = tensors.vector(name + ".bias", out);
    return one;
  };
  Weights weights;
  weights.embedding = tensors.matrix("embed_tokens.weight", size.vocab, size.hidden);
  for (int i = 0; i < spec.layers; ++i) {
    const std::string in = "layers." + std::to_string(i) + ".";
    LayerWeights layer;
    if (spec.norm_placement != NormPlacement::after) layer.attention_norm = norm(in + "input_layernorm");
    if (tensors.has(in + "self_attn.qkv_proj.weight")) {
      const LinearWeights qkv = linear(in + "self_attn.qkv_proj", size.q + 2 * size.kv, size.hidden, attention.qkv_bias);
      layer.q = rows_of(qkv, 0, size.q);
      layer.k = rows_of(qkv, size.q, size.kv);
      layer.v = rows_of(qkv, size.q + size.kv, size.kv);
    } else {
      layer.q = linear(in + "self_attn.q_proj", size.q, size.hidden, attention.qkv_bias);
      layer.k = linear(in + "self_attn.k_proj", size.kv, size.hidden, attention.qkv_bias);
      layer.v = linear(in + "self_attn.v_proj", size.kv, size.hidden, attention.qkv_bias);
    }
    layer.output = linear(in + "self_attn.o_proj", size.hidden, size.q, attention.output_bias);
    if (attention.qk_norm) {
      layer.q_norm = factor(in + "self_attn.q_norm.weight", size.q_norm);
      layer.k_norm = factor(in + "self_attn.k_norm.weight", size.k_norm);
    }
    if (spec.norm_placement == NormPlacement::before) {  // here post_attention_layernorm is the norm before the MLP, below what its name says
      if (spec.residual != Residual::parallel_shared_norm) layer.mlp_norm = norm(in + "post_attention_layernorm");
    } else {
      layer.after_attention = norm(in + "post_attention_layernorm");
      if (spec.norm_placement == NormPlacement::before_and_after) layer.mlp_norm = norm(in + "pre_feedforward_layernorm");
      layer.after_mlp = norm(in + "post_feedforward_layernorm");
    }
    if (std::holds_alternative<PlainMlp>(spec.mlp)) {
      layer.up = linear(in + "mlp.c_fc", size.mlp, size.hidden, mlp_bias);
      layer.down = linear(in + "mlp.c_proj", size.hidden, size.mlp, mlp_bias);
    } else {
      if (tensors.has(in + "mlp.gate_up_proj.weight")) {
        const LinearWeights both = linear(in + "mlp.gate_up_proj", 2 * size.mlp, size.hidden, mlp_bias);
        layer.gate = rows_of(both, 0, size.mlp);
        layer.up = rows_of(both, size.mlp, size.mlp);
      } else {
        layer.gate = linear(in + "mlp.gate_proj", size.mlp, size.hidden, mlp_bias);
        layer.up = linear(in + "mlp.up_proj", size.mlp, size.hidden, mlp_bias);
      }
      layer.down = linear(in + "mlp.down_proj", size.hidden, size.mlp, mlp_bias);
    }
    weights.layers.push_back(std::move(layer));
  }
  weights.final_norm = norm("norm");
  put_head(weights, tensors, spec);
  // RoPE's frequencies, which older files store; they follow from the config.
  tensors.refuse_leftovers([](const std::string& name) {
    return name == "rotary_emb.inv_freq" || ends_with_number_then(name, "layers.", ".self_attn.rotary_emb.inv_freq");
  });
  return weights;
}

}  // namespace hf_detail

// `where` opens every sentence: the folder. `model_type` as config.json has it, and `spec` made from the same file.
inline Weights hf_weights(std::vector<SafetensorsEntry> entries, const Spec& spec, const std::string& model_type,
                          const std::string& where) {
  if (model_type == "gpt2") {
    hf_detail::Tensors tensors(std::move(entries), {"transformer."}, where);
    return hf_detail::gpt2_weights(tensors, spec);
  }
  if (model_type == "gpt_neox") {
    hf_detail::Tensors tensors(std::move(entries), {"gpt_neox."}, where);
    return hf_detail::gpt_neox_weights(tensors, spec);
  }
  const bool gemma = model_type.starts_with("gemma");
  hf_detail::Tensors tensors(std::move(entries), {"language_model.model.", "model.language_model.", "language_model.", "model."}, where);
  return hf_detail::llama_weights(tensors, spec, gemma);
}

}  // namespace diecast
