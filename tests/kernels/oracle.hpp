// The operations' parts in double, as plain as they can be written: what the tests of fused kernels compare with.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include <diecast/kernels/activations.hpp>
#include <diecast/kernels/rotate.hpp>

#include "inputs.hpp"

namespace diecast_test {

using Row = std::vector<double>;

inline Row row_of(const std::vector<float>& all, int row, int width) {
  return Row(all.begin() + static_cast<std::ptrdiff_t>(row) * width, all.begin() + static_cast<std::ptrdiff_t>(row + 1) * width);
}

inline Row normalised(diecast::kernels::NormKind kind, Row x, const std::vector<float>& weight, const std::vector<float>& bias,
                      float epsilon) {
  if (kind == diecast::kernels::NormKind::none) return x;
  double mean = 0, squares = 0;
  if (kind == diecast::kernels::NormKind::layer)
    for (const double value : x) mean += value / static_cast<double>(x.size());
  for (double& value : x) {
    value -= mean;
    squares += value * value;
  }
  const double scale = 1 / std::sqrt(squares / static_cast<double>(x.size()) + static_cast<double>(epsilon));
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = x[i] * scale * static_cast<double>(weight[i]) + (bias.empty() ? 0.0 : static_cast<double>(bias[i]));
  return x;
}

// W x + b with weights of f32.
inline Row product(const std::vector<float>& weights, const std::vector<float>& bias, const Row& x) {
  Row out;
  for (std::size_t o = 0; o < weights.size() / x.size(); ++o) {
    double sum = bias.empty() ? 0.0 : static_cast<double>(bias[o]);
    for (std::size_t i = 0; i < x.size(); ++i) sum += static_cast<double>(weights[o * x.size() + i]) * x[i];
    out.push_back(sum);
  }
  return out;
}

// One head turned by its position: angle = position * 100^(-2 pair / rotary).
inline void rotate(double* head, int rotary, int position) {
  for (int pair = 0; pair < rotary / 2; ++pair) {
    const double angle = position * std::pow(100.0, -2.0 * pair / rotary), c = std::cos(angle), s = std::sin(angle);
    const double a = head[pair], b = head[pair + rotary / 2];
    head[pair] = a * c - b * s;
    head[pair + rotary / 2] = b * c + a * s;
  }
}
struct AnglesThere {
  Constants<float> cosines, sines;
  AnglesThere(int rotary, int positions) : cosines(table(rotary, positions, true)), sines(table(rotary, positions, false)) {}
  diecast::kernels::Angles angles() const { return {cosines.data(), sines.data()}; }

 private:
  static std::vector<float> table(int rotary, int positions, bool cosine) {
    std::vector<float> out;
    for (int position = 0; position < positions; ++position)
      for (int pair = 0; pair < rotary / 2; ++pair) {
        const double angle = position * std::pow(100.0, -2.0 * pair / rotary);
        out.push_back(static_cast<float>(cosine ? std::cos(angle) : std::sin(angle)));
      }
    if (out.empty()) out.push_back(0);
    return out;
  }
};

// A norm's weights on both sides.
struct NormThere {
  std::vector<float> weight, bias;
  Constants<float> weight_there, bias_there;
  float epsilon;
  NormThere(int width, bool with_bias, float eps, Numbers& numbers)
      : weight(shifted(numbers.reals(width))),
        bias(with_bias ? numbers.reals(width) : std::vector<float>{}),
        weight_there(weight),
        bias_there(with_bias ? bias : std::vector<float>{0}),
        epsilon(eps) {}
  diecast::kernels::Norm norm() const { return {weight_there.data(), bias.empty() ? nullptr : bias_there.data(), epsilon}; }

 private:
  static std::vector<float> shifted(std::vector<float> values) {
    for (float& value : values) value = 1 + value / 4;
    return values;
  }
};

// A matrix of f32 on both sides, in a set whose first form it is not.
inline constexpr diecast::kernels::FormSet two_forms = diecast::kernels::forms(diecast::kernels::f16_form, diecast::kernels::f32_form);
struct MatrixThere {
  std::vector<float> weights, bias;
  Matrix<two_forms> there;
  MatrixThere(int out, int in, bool with_bias, Numbers& numbers)
      : MatrixThere(random_tensor(diecast::Format::f32, out, in, numbers), with_bias ? numbers.reals(out) : std::vector<float>{}) {}
  MatrixThere(const diecast::Tensor& tensor, const std::vector<float>& with_bias)
      : weights(decoded(tensor)), bias(with_bias), there(tensor, with_bias) {}
};

// What a stream is made of: hidden states, and a branch that is to be added where the prologue says so.
template <diecast::kernels::Prologue prologue, int width>
struct StreamThere {
  std::vector<float> hidden, branch;
  NormThere norm, after;
  Constants<float> hidden_there, branch_there;
  Floats updated;
  float scale = 0.75f;
  bool has_branch;
  StreamThere(int rows, bool with_branch, Numbers& numbers)
      : hidden(numbers.reals(rows * width)),
        branch(numbers.reals(rows * width)),
        norm(width, prologue.norm == diecast::kernels::NormKind::layer, 1e-5f, numbers),
        after(width, false, 1e-6f, numbers),
        hidden_there(hidden),
        branch_there(branch),
        updated(rows * width),
        has_branch(with_branch) {}
  diecast::kernels::Stream stream() const {
    return {hidden_there.data(), norm.norm(), has_branch ? branch_there.data() : nullptr,
            after.norm(),        scale,       prologue.adds ? updated.data() : nullptr};
  }
  Row added(int row) const {
    Row x = row_of(hidden, row, width);
    if (!prologue.adds || !has_branch) return x;
    const Row more = normalised(prologue.after, row_of(branch, row, width), after.weight, {}, after.epsilon);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += static_cast<double>(scale) * more[i];
    return x;
  }
  Row input(int row) const { return normalised(prologue.norm, added(row), norm.weight, norm.bias, norm.epsilon); }
  int wrong_updates(int rows) const {
    if (!prologue.adds) return updated.unwritten() != static_cast<std::size_t>(updated.size()) * 4;
    int wrong = 0;
    const std::vector<float> got = updated.all();
    for (int row = 0; row < rows; ++row)
      for (int i = 0; i < width; ++i)
        wrong += !within(got[static_cast<std::size_t>(row * width + i)], added(row)[static_cast<std::size_t>(i)], 1e-5);
    return wrong;
  }
};

// Inputs are of size 1, a normalised row's values at most sqrt(width), weights 1: this many roundings of sums that large, and of the norm before.
inline double product_bound(int width) { return 0x1p-23 * (width / 16 + 24) * (2 * width + 8); }

}  // namespace diecast_test
