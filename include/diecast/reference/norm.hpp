// RMSNorm (Zhang and Sennrich 2019) and LayerNorm (Ba et al. 2016) over the values of one token.
#pragma once

#include <cmath>
#include <variant>

#include <diecast/files/weights.hpp>
#include <diecast/isa.hpp>
#include <diecast/reference/matrix.hpp>
#include <diecast/spec/spec.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::reference::inline DIECAST_ISA {

template <class Real>
struct NormFactors {
  Vector<Real> weight;
  Vector<Real> bias;  // or empty
};

template <class Real>
NormFactors<Real> decode_norm(const NormWeights& weights) {
  return {decode_vector<Real>(weights.weight), weights.bias ? decode_vector<Real>(*weights.bias) : Vector<Real>()};
}

// x / sqrt(mean(x^2) + epsilon) * weight. x is a vector of its own, never a view: Eigen sums in an order that depends on alignment.
template <class Real>
Vector<Real> rms_norm(const Vector<Real>& x, const Vector<Real>& weight, double epsilon) {
  const Real mean_square = x.squaredNorm() / static_cast<Real>(x.size());
  const Real scale = Real(1) / std::sqrt(mean_square + static_cast<Real>(epsilon));
  return ((x * scale).array() * weight.array()).matrix();
}

// (x - mean) / sqrt(variance + epsilon) * weight + bias
template <class Real>
Vector<Real> layer_norm(const Vector<Real>& x, const NormFactors<Real>& factors, double epsilon) {
  const Real mean = x.sum() / static_cast<Real>(x.size());
  const Vector<Real> centred = (x.array() - mean).matrix();
  Vector<Real> y = rms_norm(centred, factors.weight, epsilon);
  if (factors.bias.size() > 0) y += factors.bias;
  return y;
}

template <class Real>
Matrix<Real> normalise(const Norm& norm, const NormFactors<Real>& factors, const Matrix<Real>& x) {  // [tokens, hidden] -> [tokens, hidden]
  Matrix<Real> y(x.rows(), x.cols());
  for (Eigen::Index token = 0; token < x.rows(); ++token) {
    const Vector<Real> values = row_of(x, token);
    if (const auto* rms = std::get_if<RmsNorm>(&norm)) y.row(token) = rms_norm(values, factors.weight, rms->epsilon).transpose();
    else y.row(token) = layer_norm(values, factors, std::get<LayerNorm>(norm).epsilon).transpose();
  }
  return y;
}

}  // namespace diecast::reference::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
