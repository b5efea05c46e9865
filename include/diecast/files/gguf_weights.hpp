// The weights of a GGUF file under the library's names and in its orientation. Nothing is copied except Q and K of llama files,
// and those only after every tensor has been found with its shape.
// Source: the tensor names of the GGUF format text; llama.cpp's converter for the order of rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <diecast/files/gguf_tensors.hpp>
#include <diecast/spec/spec.hpp>

namespace diecast {
namespace gguf_detail {

class WeightReader {
 public:
  WeightReader(const Gguf& file, GgufTensors& tensors, const Spec& spec) : file_(file), tensors_(tensors), spec_(spec) {}

  Weights all() {
    Weights weights;
    weights.embedding = tensors_.matrix("token_embd.weight", spec_.vocab, spec_.hidden);
    if (const auto* absolute = std::get_if<Absolute>(&spec_.position)) {
      weights.position = tensors_.matrix("position_embd.weight", absolute->positions, spec_.hidden);
    }
    weights.final_norm = norm("output_norm", spec_.hidden);
    if (std::holds_alternative<UntiedHead>(spec_.head)) weights.head = tensors_.matrix("output.weight", spec_.vocab, spec_.hidden);
    if (std::visit([](const auto& head) { return head.bias; }, spec_.head)) weights.head_bias = tensors_.vector("output.bias", spec_.vocab);
    for (int i = 0; i < spec_.layers; ++i) weights.layers.push_back(layer("blk." + std::to_string(i) + "."));
    return weights;
  }

 private:
  NormWeights norm(const std::string& name, std::int64_t size) {
    NormWeights result{.weight = tensors_.vector(name + ".weight", size)};
    const auto* layer_norm = std::get_if<LayerNorm>(&spec_.norm);
    if (layer_norm && layer_norm->bias) result.bias = tensors_.vector(name + ".bias", size);
    return result;
  }
  LinearWeights linear(const std::string& name, std::int64_t out, std::int64_t in, bool bias) {
    LinearWeights result{.weight = tensors_.matrix(name + ".weight", out, in)};
    if (bias) result.bias = tensors_.vector(name + ".bias", out);
    return result;
  }
  LinearWeights slice(const LinearWeights& whole, std::int64_t first, std::int64_t rows) {
    LinearWeights part{.weight = row_slice(whole.weight, first, rows)};
    if (whole.bias) part.bias = as_row(row_slice(as_column(file_, *whole.bias), first, rows));
    return part;
  }

  LayerWeights layer(const std::string& block) {
    const Attention& attention = spec_.attention;
    const std::int64_t hidden = spec_.hidden;
    const std::int64_t q_rows = std::int64_t{attention.heads} * attention.head_dim;
    const std::int64_t kv_rows = std::int64_t{attention.kv_heads} * attention.head_dim;
    LayerWeights layer;
    if (spec_.norm_placement != NormPlacement::after) layer.attention_norm = norm(block + "attn_norm", hidden);
    if (tensors_.has(block + "attn_qkv.weight")) {
      const auto fused = linear(block + "attn_qkv", q_rows + 2 * kv_rows, hidden, attention.qkv_bias);
      layer.q = slice(fused, 0, q_rows);
      layer.k = slice(fused, q_rows, kv_rows);
      layer.v = slice(fused, q_rows + kv_rows, kv_rows);
    } else {
      layer.q = linear(block + "attn_q", q_rows, hidden, attention.qkv_bias);
      layer.k = linear(block + "attn_k", kv_rows, hidden, attention.qkv_bias);
      layer.v = linear(block + "attn_v", kv_rows, hidden, attention.qkv_bias);
    }
    layer.output = linear(block + "attn_output", hidden, q_rows, attention.output_bias);
    if (attention.qk_norm) {
      layer.q_norm = tensors_.vector(block + "attn_q_norm.weight", attention.qk_norm == QkNorm::all_heads ? q_rows : attention.head_dim);
      layer.k_norm = tensors_.vector(block + "attn_k_norm.weight", attention.qk_norm == QkNorm::all_heads ? kv_rows : attention.head_dim);
    }
    if (spec_.norm_placement != NormPlacement::before) {
      layer.after_attention = norm(block + "post_attention_norm", hidden);
      layer.after_mlp = norm(block + "post_ffw_norm", hidden);
    }
    if (spec_.norm_placement != NormPlacement::after && spec_.residual != Residual::parallel_shared_norm) layer.mlp_norm = norm(block + "ffn_norm", hidden);
    const auto [width, bias] = std::visit([](const auto& mlp) { return std::pair(std::int64_t{mlp.width}, mlp.bias); }, spec_.mlp);
    const bool gated = std::holds_alternative<GatedMlp>(spec_.mlp);
    const bool fused_gate = file_.text("general.architecture") == "phi3" && !tensors_.has(block + "ffn_gate.weight");
    if (gated && fused_gate) {  // gate and up are one matrix
      const auto fused = linear(block + "ffn_up", 2 * width, hidden, bias);
      layer.gate = slice(fused, 0, width);
      layer.up = slice(fused, width, width);
    } else {
      if (gated) layer.gate = linear(block + "ffn_gate", width, hidden, bias);
      layer.up = linear(block + "ffn_up", width, hidden, bias);
    }
    layer.down = linear(block + "ffn_down", hidden, width, bias);
    return layer;
  }

  const Gguf& file_;
  GgufTensors& tensors_;
  const Spec& spec_;
};

}  // namespace gguf_detail

// Every tensor that the spec needs, as the file has it.
inline Weights read_gguf_weights(const Gguf& file, GgufTensors& tensors, const Spec& spec) {
  return gguf_detail::WeightReader(file, tensors, spec).all();
}

// Moves the rows of Q and K, and the values of their biases, from neighbouring RoPE pairs to halves.
inline void move_pairs_to_halves(const Gguf& file, Weights& weights, const Spec& spec) {
  using namespace gguf_detail;
  const int head_dim = spec.attention.head_dim;
  const int rotary_dim = std::get<Rope>(spec.position).rotary_dim.value_or(head_dim);
  for (LayerWeights& layer : weights.layers) {
    for (LinearWeights* linear : {&layer.q, &layer.k}) {
      linear->weight = pairs_to_halves(linear->weight, head_dim, rotary_dim);
      if (linear->bias) linear->bias = as_row(pairs_to_halves(as_column(file, *linear->bias), head_dim, rotary_dim));
    }
  }
}

}  // namespace diecast
