// A model's weights under one set of names and in one orientation, whichever file they came from:
// matrices are [out, in], row-major; Q, K and V are three matrices; RoPE pairs are (i, i + d/2); RMSNorm weights
// are the factor itself (never w of 1 + w). The bytes stay in the file's own format and, where nothing had to move,
// in the file's own mapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <diecast/files/format.hpp>

namespace diecast {

struct Tensor {
  std::string name;      // in the file, for messages
  Format format{};
  std::int64_t rows{};   // 1 for a vector
  std::int64_t cols{};   // contiguous
  std::span<const std::byte> bytes{};
  std::shared_ptr<const void> owner{};  // keeps the bytes alive: the mapping, or a buffer of our own
};

struct NormWeights {
  Tensor weight;
  std::optional<Tensor> bias{};
};
struct LinearWeights {
  Tensor weight;                 // [out, in]
  std::optional<Tensor> bias{};  // [out]
};
struct LayerWeights {
  std::optional<NormWeights> attention_norm{};  // absent with NormPlacement::after
  LinearWeights q, k, v, output;
  std::optional<Tensor> q_norm{}, k_norm{};                   // [head_dim], or with QkNorm::all_heads [heads * head_dim] and [kv_heads * head_dim]
  std::optional<NormWeights> after_attention{}, after_mlp{};  // absent with NormPlacement::before
  std::optional<NormWeights> mlp_norm{};  // absent with NormPlacement::after and Residual::parallel_shared_norm
  std::optional<LinearWeights> gate{};  // present with GatedMlp
  LinearWeights up, down;
};
struct Weights {
  Tensor embedding;                    // [vocab, hidden]
  std::optional<Tensor> position{};    // [positions, hidden], present with Absolute
  std::vector<LayerWeights> layers;
  NormWeights final_norm;
  std::optional<Tensor> head{};        // [vocab, hidden], present with UntiedHead
  std::optional<Tensor> head_bias{};   // [vocab]
};

}  // namespace diecast
