// Weights of any spec, filled with small random numbers that are the same on every machine: for tests that need
// a model's shapes but no trained model. Matrices keep the size of what goes through them (variance about 1/3 of the
// input's), norms lie around 1, biases around 0. The numbers come from SplitMix64 (Steele, Lea, Flood 2014).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <diecast/files/weights.hpp>
#include <diecast/spec/spec.hpp>

namespace diecast::testing {

class RandomWeights {
 public:
  RandomWeights(const Spec& spec, std::uint64_t seed) : spec_(spec), state_(seed) {}

  Weights weights() {
    Weights all;
    all.embedding = matrix("embedding", spec_.vocab, spec_.hidden);
    if (const auto* absolute = std::get_if<Absolute>(&spec_.position)) all.position = matrix("position", absolute->positions, spec_.hidden);
    for (int i = 0; i < spec_.layers; ++i) all.layers.push_back(layer("layer " + std::to_string(i) + " "));
    all.final_norm = norm("final_norm");
    if (std::holds_alternative<UntiedHead>(spec_.head)) all.head = matrix("head", spec_.vocab, spec_.hidden);
    if (std::visit([](const auto& head) { return head.bias; }, spec_.head)) all.head_bias = vector("head_bias", spec_.vocab, 0.0, 0.1);
    return all;
  }

 private:
  LayerWeights layer(const std::string& in) {
    const Attention& a = spec_.attention;
    const int q_width = a.heads * a.head_dim;
    const int kv_width = a.kv_heads * a.head_dim;
    const int width = std::visit([](const auto& mlp) { return mlp.width; }, spec_.mlp);
    const bool mlp_bias = std::visit([](const auto& mlp) { return mlp.bias; }, spec_.mlp);

    LayerWeights one;
    if (spec_.norm_placement != NormPlacement::after) one.attention_norm = norm(in + "attention_norm");
    one.q = linear(in + "q", q_width, spec_.hidden, a.qkv_bias);
    one.k = linear(in + "k", kv_width, spec_.hidden, a.qkv_bias);
    one.v = linear(in + "v", kv_width, spec_.hidden, a.qkv_bias);
    one.output = linear(in + "output", spec_.hidden, q_width, a.output_bias);
    if (a.qk_norm) {
      one.q_norm = vector(in + "q_norm", a.qk_norm == QkNorm::all_heads ? q_width : a.head_dim, 1.0, 0.2);
      one.k_norm = vector(in + "k_norm", a.qk_norm == QkNorm::all_heads ? kv_width : a.head_dim, 1.0, 0.2);
    }
    if (spec_.norm_placement != NormPlacement::before) {
      one.after_attention = norm(in + "after_attention");
      one.after_mlp = norm(in + "after_mlp");
    }
    if (spec_.norm_placement != NormPlacement::after && spec_.residual != Residual::parallel_shared_norm) one.mlp_norm = norm(in + "mlp_norm");
    if (std::holds_alternative<GatedMlp>(spec_.mlp)) one.gate = linear(in + "gate", width, spec_.hidden, mlp_bias);
    one.up = linear(in + "up", width, spec_.hidden, mlp_bias);
    one.down = linear(in + "down", spec_.hidden, width, mlp_bias);
    return one;
  }

  NormWeights norm(const std::string& name) {
    NormWeights one{vector(name, spec_.hidden, 1.0, 0.2), {}};
    if (const auto* layer_norm = std::get_if<LayerNorm>(&spec_.norm); layer_norm && layer_norm->bias)
      one.bias = vector(name + ".bias", spec_.hidden, 0.0, 0.1);
    return one;
  }

  LinearWeights linear(const std::string& name, int out, int in, bool bias) {
    LinearWeights one{matrix(name, out, in), {}};
    if (bias) one.bias = vector(name + ".bias", out, 0.0, 0.1);
    return one;
  }

  Tensor matrix(const std::string& name, int rows, int cols) { return tensor(name, rows, cols, 0.0, 1.0 / std::sqrt(static_cast<double>(cols))); }
  Tensor vector(const std::string& name, int size, double centre, double spread) { return tensor(name, 1, size, centre, spread); }

  // Values uniform in [centre - spread, centre + spread).
  Tensor tensor(const std::string& name, int rows, int cols, double centre, double spread) {
    auto values = std::make_shared<std::vector<float>>(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols));
    for (float& value : *values) value = static_cast<float>(centre + spread * uniform());
    Tensor one{.name = name, .format = Format::f32, .rows = rows, .cols = cols};
    one.bytes = std::as_bytes(std::span<const float>(*values));
    one.owner = std::move(values);
    return one;
  }

  double uniform() {  // [-1, 1)
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return static_cast<double>(z >> 11) * 0x1p-52 - 1.0;
  }

  Spec spec_;
  std::uint64_t state_;
};

inline Weights random_weights(const Spec& spec, std::uint64_t seed = 1) { return RandomWeights(spec, seed).weights(); }

}  // namespace diecast::testing
