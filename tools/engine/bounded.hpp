// Numbers with a bound of how far a device's may be from them, and what the parts of a model make of both: rounding, and the 8 bits of activations before
// weights of integers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <variant>

#include <diecast/backend/layer_view.hpp>
#include <diecast/cpu/form.hpp>
#include <diecast/reference/reference.hpp>

#include "verify.hpp"

namespace diecast::shell {

using reference::Linear;
using reference::NormFactors;
using reference::Vector;

// Numbers, and how far the device's may be from them.
struct Bounded {
  Vector<double> value, error;
};

inline constexpr double half_step = 0.5001 / 127;  // of a block's greatest activation
inline constexpr double exponential = 0x1p-21;     // relative error of the device's exp2 and tanh (kernels/context.hpp), with their arguments'

inline Bounded normalised(const Norm& kind, const NormFactors<double>& norm, const Bounded& x) {
  const bool layer = std::holds_alternative<LayerNorm>(kind);
  const double epsilon = std::visit([](const auto& one) { return one.epsilon; }, kind), n = static_cast<double>(x.value.size());
  const double mean = layer ? x.value.mean() : 0.0, absolute = layer ? x.value.cwiseAbs().mean() : 0.0;
  const Vector<double> centred = (x.value.array() - mean).matrix();
  const double scale = 1 / std::sqrt(centred.squaredNorm() / n + epsilon);
  Bounded y{layer ? reference::layer_norm<double>(x.value, norm, epsilon) : reference::rms_norm<double>(x.value, norm.weight, epsilon), {}};
  // An error of the input counts itself, through the mean and through the mean square; the rest is the rounding of two sums of n.
  const double through_sums = x.error.norm() * scale / std::sqrt(n);
  const Vector<double> size = (centred.cwiseAbs().array() + 2 * absolute).matrix() * scale;
  const Vector<double> own = (x.error.array() + (layer ? x.error.mean() : 0.0)).matrix() * scale;
  y.error = norm.weight.cwiseAbs().cwiseProduct(own + size * (through_sums + 2 * gamma(2 * n + 8)));
  if (norm.bias.size() > 0) y.error += gamma(2) * (y.value.cwiseAbs() + norm.bias.cwiseAbs());
  return y;
}

// RMSNorm over each head, or over all of them: weight has the width.
inline void normalise_heads(Bounded& all, const Vector<double>& weight, double epsilon) {
  const Eigen::Index width = weight.size();
  for (Eigen::Index begin = 0; begin < all.value.size(); begin += width) {
    all.value.segment(begin, width) = reference::rms_norm<double>(all.value.segment(begin, width), weight, epsilon);
    all.error.segment(begin, width) = 2 * gamma(2 * static_cast<double>(width) + 8) * all.value.segment(begin, width).cwiseAbs();
  }
}

// RoPE of one token's heads.
inline void turn(Bounded& heads, const LayerView& view, int head_dim, int position) {
  if (view.frequencies.empty()) return;
  const Eigen::Index half = static_cast<Eigen::Index>(view.frequencies.size());
  for (Eigen::Index head = 0; head < heads.value.size(); head += head_dim) {
    const Vector<double> size = heads.value.segment(head, half).cwiseAbs() + heads.value.segment(head + half, half).cwiseAbs();
    const Vector<double> error = view.stretch * (heads.error.segment(head, half) + heads.error.segment(head + half, half) + gamma(4) * size);
    heads.error.segment(head, half) = error;
    heads.error.segment(head + half, half) = error;
    reference::rotate(heads.value.data() + head, view.frequencies, position, view.stretch);
  }
}

// Weights of integers meet activations of 8 bits, which are off by half a step of the greatest of 32.
inline Bounded product(const Bounded& x, const reference::Matrix<double>& weight, const Vector<double>& bias, Format format) {
  const double n = static_cast<double>(x.value.size());
  Vector<double> error = x.error;
  double largest = 0;
  if (cpu::form_of(format).integers) {
    for (Eigen::Index begin = 0; begin < error.size(); begin += cpu::block_columns)
      error.segment(begin, cpu::block_columns).array() +=
          half_step * (x.value.segment(begin, cpu::block_columns).cwiseAbs() + x.error.segment(begin, cpu::block_columns)).maxCoeff();
    // A block's integers are summed before its minimum is added: both may be larger than what they come to.
    largest = weight.cwiseAbs().maxCoeff() * x.value.cwiseAbs().maxCoeff() * n;
  }
  const reference::Matrix<double> sizes = weight.cwiseAbs();
  Bounded y{weight * x.value, sizes * error + gamma(n + 8) * (sizes * x.value.cwiseAbs())};
  y.error.array() += gamma(8) * largest;
  if (bias.size() > 0) {
    y.value += bias;
    y.error += gamma(2) * bias.cwiseAbs();
  }
  return y;
}
inline Bounded product(const Bounded& x, const Linear<double>& linear, Format format) { return product(x, linear.weight, linear.bias, format); }

// No activation's slope exceeds 1.13 (GELU's). GELU's error function is off by 7e-7 (kernels/activate.hpp).
inline Bounded activated(Activation activation, const Bounded& x) {
  Bounded y = x;
  for (Eigen::Index i = 0; i < x.value.size(); ++i) {
    y.value[i] = reference::activate(activation, x.value[i]);
    const double own = activation == Activation::relu   ? 0
                       : activation == Activation::silu ? std::abs(y.value[i]) * (exponential + 8 * unit * std::abs(x.value[i]))
                                                        : std::abs(x.value[i]) * 1e-6;
    y.error[i] = 1.13 * x.error[i] + own;
  }
  return y;
}

inline Bounded joined(const Bounded& a, const Bounded& b) {
  Bounded both{Vector<double>(a.value.size() + b.value.size()), Vector<double>(a.value.size() + b.value.size())};
  both.value << a.value, b.value;
  both.error << a.error, b.error;
  return both;
}

}  // namespace diecast::shell
