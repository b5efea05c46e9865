// From a model's spec to the value that its kernels are compiled for, and the few run-time numbers that go with it. The only place of the device
// code's host side that reads a spec's structure.
#pragma once

#include <cmath>
#include <optional>
#include <span>
#include <variant>

#include <diecast/cuda/pack.hpp>
#include <diecast/files/format.hpp>
#include <diecast/kernels/model_shape.hpp>
#include <diecast/spec/spec.hpp>

namespace diecast::cuda {

inline constexpr kernels::Team gpu_team{256, 2};  // what a GPU's kernels are compiled for

constexpr kernels::Activate activate_of(Activation activation) {
  switch (activation) {
    case Activation::silu:
      return kernels::Activate::silu;
    case Activation::gelu:
      return kernels::Activate::gelu;
    case Activation::gelu_tanh:
      return kernels::Activate::gelu_tanh;
    case Activation::relu:
      return kernels::Activate::relu;
  }
  return kernels::Activate::silu;
}

// Forms of the given formats, each once.
constexpr kernels::FormSet forms_of(std::span<const Format> formats) {
  kernels::FormSet set;
  for (const Format format : formats) set = kernels::with(set, form_of(format));
  return set;
}

constexpr kernels::ModelShape shape_of(const Spec& spec, std::span<const Format> formats, kernels::Team team) {
  const Attention& a = spec.attention;
  const auto* rope = std::get_if<Rope>(&spec.position);
  kernels::ModelShape m{};
  m.hidden = spec.hidden;
  m.heads = {a.heads, a.kv_heads, a.head_dim};
  m.rotary = {rope != nullptr ? rope->rotary_dim.value_or(a.head_dim) : 0};
  m.head_norms = !a.qk_norm                        ? kernels::HeadNorms::none
                 : *a.qk_norm == QkNorm::each_head ? kernels::HeadNorms::each_head
                                                   : kernels::HeadNorms::all_heads;
  m.mlp = std::visit([](const auto& mlp) { return kernels::MlpShape{mlp.width, false, activate_of(mlp.activation)}; }, spec.mlp);
  m.mlp.gated = std::holds_alternative<GatedMlp>(spec.mlp);
  m.vocab = spec.vocab;
  m.norm = std::holds_alternative<RmsNorm>(spec.norm) ? kernels::NormKind::rms : kernels::NormKind::layer;
  m.norm_before = spec.norm_placement != NormPlacement::after;
  m.norm_after = spec.norm_placement != NormPlacement::before;
  m.branches = spec.residual == Residual::sequential ? kernels::Branches::in_order : kernels::Branches::beside;
  m.forms = forms_of(formats);
  m.team = team;
  return m;
}

inline float epsilon_of(const Norm& norm) {
  return static_cast<float>(std::visit([](const auto& one) { return one.epsilon; }, norm));
}
inline float attention_scale(const Attention& attention) {
  return static_cast<float>(attention.scale.value_or(1 / std::sqrt(static_cast<double>(attention.head_dim))));
}

}  // namespace diecast::cuda
