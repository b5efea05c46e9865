// Models for tests of the whole CPU backend: random weights whose matrices are in any format, and how far two backends' logits lie apart.
#pragma once

#include <diecast/cpu/cpu.hpp>
#include <diecast/reference/reference.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <memory>
#include <vector>

#include "bit_identity.hpp"
#include "inputs.hpp"
#include "random_weights.hpp"

namespace diecast::testing {

constexpr unsigned mask_of(std::initializer_list<Format> formats) {
  unsigned mask = 0;
  for (const Format format : formats) mask |= 1U << static_cast<unsigned>(format);
  return mask;
}
// Kernels for any shape, and only these formats: all of them would take the compiler half a minute in each unit.
template <Format... formats>
using AnyShape = cpu::Cpu<cpu::Shape{0, 0, 0, 0, mask_of({formats...})}>;

struct MatrixFormats {
  Format embedding, attention, up, down;  // attention: Q, K, V and output; up: with gate; the head is the embedding's where it is tied
};

// Random weights as random_weights.hpp makes them, with matrices of about the same size in these formats.
inline Weights weights_in(const Spec& spec, const MatrixFormats& formats, std::uint64_t seed) {
  Weights weights = random_weights(spec, seed);
  Random random(seed);
  const auto in = [&](Tensor& tensor, Format format) {
    if (format == Format::f32) return;
    tensor = random_tensor(format, static_cast<int>(tensor.rows), static_cast<int>(tensor.cols), 1 / std::sqrt(static_cast<float>(tensor.cols)), random);
  };
  in(weights.embedding, formats.embedding);
  for (LayerWeights& layer : weights.layers) {
    for (LinearWeights* linear : {&layer.q, &layer.k, &layer.v, &layer.output}) in(linear->weight, formats.attention);
    if (layer.gate) in(layer.gate->weight, formats.up);
    in(layer.up.weight, formats.up);
    in(layer.down.weight, formats.down);
  }
  if (weights.head) in(*weights.head, formats.embedding);
  return weights;
}

struct Distance {
  double greatest;  // absolute
  double relative;  // root of the mean square, relative to that of the second
};

// NaN anywhere makes both NaN.
inline Distance distance(const LogitRows& a, const LogitRows& b) {
  REQUIRE(a.size() == b.size());
  double greatest = 0, difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    REQUIRE(a[i].size() == b[i].size());
    for (std::size_t k = 0; k < a[i].size(); ++k) {
      const double d = static_cast<double>(a[i][k]) - b[i][k];
      greatest = std::fabs(d) <= greatest ? greatest : std::fabs(d);
      difference += d * d;
      size += static_cast<double>(b[i][k]) * b[i][k];
    }
  }
  REQUIRE(size > 0);
  return {difference == difference ? greatest : difference, std::sqrt(difference / size)};
}

// Integers that are rounded to a 127th of the greatest of 32 err by a uniform 1/254 of it at most, which is 1 / (127 * sqrt(12)) in the mean square;
// the greatest of 32 is about 2.1 times the mean size for normal numbers, and 3 for the longer tails of gated products: 0.7 % of what goes into a product.
// That much of its output is wrong, too. Errors of different products are independent, so the root of their number counts; where a layer's
// input errs, so does its output, about as much. Twice that is the bound: a wrong scale or minimum of a single block exceeds it by far.
inline double quantised_bound(const Spec& spec) { return 2 * 0.007 * std::sqrt(4.0 * spec.layers + 1); }

// The model in these formats on the CPU against the reference in double, and its identity.
template <class Config, Format... formats>
void check_model(const MatrixFormats& of_matrices) {
  using cpu::CacheType;
  using cpu::Precision;
  constexpr Spec spec = Config::spec;
  const Weights weights = weights_in(spec, of_matrices, 5);
  const std::vector<int> ids = prompt_of(spec, 37, 3);
  const auto make = [&](CacheType cache, Precision precision) {
    return [&, cache, precision](int threads) { return std::make_shared<const AnyShape<formats...>>(spec, weights, cpu::Options{threads, cache, precision}); };
  };
  const LogitRows right = run_alone(Reference<double>(spec, weights), ids, 37);
  const auto apart = [&](CacheType cache, Precision precision) { return distance(run_alone(*make(cache, precision)(1), ids, 37), right).relative; };
  const double bound = quantised_bound(spec), fast = apart(CacheType::f32, Precision::fast), balanced = apart(CacheType::f32, Precision::balanced),
               exact = apart(CacheType::f32, Precision::exact), halfs = apart(CacheType::f16, Precision::exact);
  CAPTURE(bound, fast, balanced, exact, halfs);
  CHECK(fast <= bound);
  CHECK(fast >= bound / 100);  // without a trace of rounding, another path has run
  CHECK(balanced < fast);
  CHECK(exact <= bound / 128);  // seven bits more
  CHECK(exact < balanced);
  CHECK(halfs <= bound / 128 + 0x1p-11 * std::sqrt(2.0 * spec.layers));  // keys and values of each layer, rounded by half a step at most

  for (const Precision precision : {Precision::fast, Precision::balanced, Precision::exact}) {
    CAPTURE(precision_name(precision));
    check_identity(make(CacheType::f16, precision));
  }
}

}  // namespace diecast::testing
