// The activations of the MLP, and the MLP itself.
#pragma once

#include <cmath>
#include <numbers>
#include <optional>
#include <variant>

#include <diecast/isa.hpp>
#include <diecast/reference/matrix.hpp>
#include <diecast/spec/spec.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::reference::inline DIECAST_ISA {

template <class Real>
Real activate(Activation activation, Real x) {
  switch (activation) {
    case Activation::silu: return x / (Real(1) + std::exp(-x));
    case Activation::gelu: return Real(0.5) * x * (Real(1) + std::erf(x / std::numbers::sqrt2_v<Real>));
    case Activation::gelu_tanh: {  // Hendrycks and Gimpel 2016
      const Real inner = std::sqrt(Real(2) / std::numbers::pi_v<Real>) * (x + Real(0.044715) * x * x * x);
      return Real(0.5) * x * (Real(1) + std::tanh(inner));
    }
    case Activation::relu: return x > 0 || x != x ? x : Real(0);
  }
  return x;
}

template <class Real>
struct MlpWeights {
  std::optional<Linear<Real>> gate;
  Linear<Real> up, down;
};

template <class Real>
Matrix<Real> mlp(const Mlp& spec, const MlpWeights<Real>& weights, const Matrix<Real>& x, Workers& workers) {  // [tokens, hidden] -> [tokens, hidden]
  const Activation activation = std::visit([](const auto& part) { return part.activation; }, spec);
  Matrix<Real> inner = multiply(x, weights.up, workers);
  if (weights.gate) {
    const Matrix<Real> gate = multiply(x, *weights.gate, workers);
    for (Eigen::Index i = 0; i < inner.size(); ++i) inner.data()[i] *= activate(activation, gate.data()[i]);
  } else {
    for (Eigen::Index i = 0; i < inner.size(); ++i) inner.data()[i] = activate(activation, inner.data()[i]);
  }
  return multiply(inner, weights.down, workers);
}

}  // namespace diecast::reference::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
