// One's own kernel against the reference. The kernel is RMSNorm for one width that the compiler knows, in float, with eight partial sums so that the
// loop becomes vector code. The reference computes the same in double; the distance allowed follows from the operation, not from looking at it:
//
//   y = x * w / sqrt(mean(x^2) + epsilon), every operation with a relative error of at most u = 2^-24
//   The sum of n squares has only positive terms, so in any order its relative error is at most g(n) with g(k) = k u / (1 - k u) (Higham 2002, 3.1).
//   Dividing by n and adding epsilon bring one u each; the root halves the error and adds one; the reciprocal and two products add three.
//   |y - y'| <= g(n / 2 + 5) |y|   (the reference's own error is 2^29 times smaller; one more u covers it and the halving's second order)
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iostream>
#include <limits>
#include <random>
#include <vector>

#include <diecast/diecast.hpp>
#include <diecast/reference.hpp>

namespace {

// [width] and [width] -> [width]
template <int width>
void rms_norm(const float* x, const float* weight, float epsilon, float* y) {
  constexpr int lanes = 8;
  static_assert(width % lanes == 0, "the width must be a multiple of 8");
  float partial[lanes] = {};
  for (int i = 0; i < width; i += lanes)
    for (int lane = 0; lane < lanes; ++lane) partial[lane] += x[i + lane] * x[i + lane];
  float sum = 0;
  for (const float part : partial) sum += part;
  const float scale = 1.0f / std::sqrt(sum / width + epsilon);
  for (int i = 0; i < width; ++i) y[i] = x[i] * scale * weight[i];
}

// The same with a mistake that is easily made: the mean is over one value too few.
template <int width>
void mistaken(const float* x, const float* weight, float epsilon, float* y) {
  float sum = 0;
  for (int i = 1; i < width; ++i) sum += x[i] * x[i];
  const float scale = 1.0f / std::sqrt(sum / width + epsilon);
  for (int i = 0; i < width; ++i) y[i] = x[i] * scale * weight[i];
}

using Kernel = void (*)(const float*, const float*, float, float*);

// The greatest distance from the reference as a part of the bound: above 1 the kernel is wrong.
template <int width>
double worst(Kernel kernel) {
  constexpr double unit = 0x1p-24, roundings = width / 2.0 + 6;
  constexpr double bound = roundings * unit / (1 - roundings * unit);
  constexpr float epsilon = 1e-5f;
  std::mt19937 random(7);
  std::vector<float> x(width), weight(width), y(width);
  double most = 0;
  for (const float size : {1e-4f, 1.0f, 1e4f}) {  // also where epsilon decides
    for (float& value : x) value = size * (static_cast<float>(random() >> 8) * 0x1p-23f - 1);
    for (float& value : weight) value = static_cast<float>(random() >> 8) * 0x1p-23f;
    std::fill(y.begin(), y.end(), std::numeric_limits<float>::quiet_NaN());  // what the kernel does not write is seen
    kernel(x.data(), weight.data(), epsilon, y.data());
    const auto in_double = [](const std::vector<float>& values) {
      return diecast::reference::Vector<double>(Eigen::Map<const Eigen::VectorXf>(values.data(), width).cast<double>());
    };
    const diecast::reference::Vector<double> right = diecast::reference::rms_norm<double>(in_double(x), in_double(weight), static_cast<double>(epsilon));
    for (int i = 0; i < width; ++i) {
      const double distance = std::abs(static_cast<double>(y[static_cast<std::size_t>(i)]) - right[i]) / (bound * std::abs(right[i]));
      if (!(distance <= most)) most = distance;  // written so that NaN stays
    }
  }
  return most;
}

bool report(const char* what, double of_bound) {
  const bool holds = of_bound <= 1;  // NaN fails
  std::cout << what << ": " << (holds ? "within the bound" : "refused") << '\n';
  std::cerr << what << ": the worst distance is " << of_bound << " of the bound\n";
  return holds;
}

}  // namespace

int main() {
  const bool narrow = report("rms_norm<64>", worst<64>(rms_norm<64>));
  const bool wide = report("rms_norm<576>", worst<576>(rms_norm<576>));
  const bool fooled = report("mistaken<576>", worst<576>(mistaken<576>));
  return narrow && wide && !fooled ? 0 : 1;
}
