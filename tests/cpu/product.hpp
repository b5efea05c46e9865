// What every format's product must hold. A unit instantiates it for a few formats, since the kernels take the compiler long.
#pragma once

#include <diecast/cpu/product.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include <diecast/cpu/work_buffers.hpp>

#include "inputs.hpp"

namespace diecast::testing {

// Rows of activations, quantised where the format's product takes integers: to 8 bits, or wide ones to 15.
class Inputs {
 public:
  Inputs(Format format, bool wide, const std::vector<float>& values, int cols) : rows_(static_cast<int>(values.size()) / cols, cols), wide_(wide) {  // [tokens, cols]
    for (int r = 0; r < static_cast<int>(values.size()) / cols; ++r) {
      std::copy_n(values.data() + static_cast<std::size_t>(r) * static_cast<std::size_t>(cols), cols, rows_.row(r));
      if (cpu::form_of(format).integers) cpu::quantise(view(), r);
    }
  }
  cpu::Activations view() { return rows_.view(wide_); }

 private:
  cpu::ActivationRows rows_;
  bool wide_;
};

constexpr float unwritten = -12345;

// [tokens, rows]
template <Format format, int Cols>
std::vector<float> product_of(const cpu::PackedMatrix& matrix, const float* bias, const cpu::Activations& x, int tokens) {
  std::vector<float> out(static_cast<std::size_t>(tokens) * static_cast<std::size_t>(matrix.rows), unwritten);
  cpu::Ahead nothing;
  cpu::product<format, Cols>(matrix, bias, x, tokens, 0, matrix.panels(), {out.data(), static_cast<std::size_t>(matrix.rows)}, nothing);
  return out;
}

// Small whole numbers: every order of summation is exact, so the product is the one right answer.
template <Format format>
void check_exact(bool wide, int rows, int cols, int tokens) {
  Random random(41);
  const Tensor tensor = random_tensor(format, rows, cols, 1, random, true);
  const Packed packed(tensor);
  const std::vector<float> weights = decoded(tensor);
  constexpr bool integers = cpu::form_of(format).integers;
  const int most = !integers ? 7 : wide ? 16256 : 127, usual = wide ? 100 : most;
  std::vector<float> values(static_cast<std::size_t>(tokens) * static_cast<std::size_t>(cols));
  for (float& one : values) one = static_cast<float>(random.integer(-usual, usual));
  for (std::size_t i = 0; integers && i < values.size(); i += 32) values[i + i / 32 % 32] = static_cast<float>(i % 64 == 0 ? most : -most);  // so that each scale is 1
  Inputs inputs(format, wide, values, cols);
  const std::vector<float> out = product_of<format, cpu::run_time>(packed.matrix, nullptr, inputs.view(), tokens);
  for (int t = 0; t < tokens; ++t)
    for (int r = 0; r < rows; ++r) {
      long right = 0, sizes = 0;
      for (int c = 0; c < cols; ++c) {
        const long one = static_cast<long>(weights[static_cast<std::size_t>(r * cols + c)]) * static_cast<long>(values[static_cast<std::size_t>(t * cols + c)]);
        right += one;
        sizes += std::labs(one);
      }
      CAPTURE(layout(format).name, wide, t, r);
      REQUIRE(sizes < 1L << 24);  // else the test would be wrong
      REQUIRE(out[static_cast<std::size_t>(t * rows + r)] == static_cast<float>(right));
    }
}

// Random numbers: against a product in double of the decoded weights with the quantised activations. Each step of the kernel rounds a
// scale, a wide integer or a sum; a sum of n terms in float errs by n * 2^-24 of the sum of the terms' sizes at most, a scale by 2 * 2^-24 of its term, an integer by 2^-24.
// Blocks with a minimum have two terms, each of the size of its own part. Against the activations as they were, half a step for each comes on top.
template <Format format>
void check_close(bool wide, int rows, int cols, int tokens) {
  Random random(42);
  constexpr cpu::Form form = cpu::form_of(format);
  const Tensor tensor = random_tensor(format, rows, cols, 0.5F, random);
  const Packed packed(tensor);
  const std::vector<float> weights = decoded(tensor);
  const std::vector<float> bias = random.numbers((rows + 15) / 16 * 16);
  std::vector<float> values = random.numbers(tokens * cols);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= std::ldexp(1.0F, static_cast<int>(i / 32 % 5));
  Inputs inputs(format, wide, values, cols);
  const cpu::Activations x = inputs.view();
  const std::vector<float> out = product_of<format, cpu::run_time>(packed.matrix, bias.data(), x, tokens);
  const int terms = form.integers ? cols / form.group + (form.minimum ? cols / 32 : 0) : cols / 4 + 2;
  for (int t = 0; t < tokens; ++t)
    for (int r = 0; r < rows; ++r) {
      double right = bias[static_cast<std::size_t>(r)], unrounded = right, sizes = std::fabs(right), steps = 0;
      for (int c = 0; c < cols; ++c) {
        const double weight = weights[static_cast<std::size_t>(r * cols + c)], value = values[static_cast<std::size_t>(t * cols + c)];
        const auto block = static_cast<std::size_t>((t * cols + c) / 32);
        const double taken = form.integers ? (wide ? 128.0 * x.integers[t * cols + c] + x.lower[t * cols + c] : x.integers[t * cols + c]) * x.scales[block] : value;
        right += weight * taken;
        unrounded += weight * value;
        // With a minimum the two parts may be larger than their sum: by twice the minimum, which is 1.3 at most here.
        sizes += (std::fabs(weight) + (form.minimum ? 2.6 : 0)) * std::fabs(taken);
        if (form.integers) steps += std::fabs(weight) * x.scales[block] * 0.5001;
      }
      const double y = out[static_cast<std::size_t>(t * rows + r)], rounding = (terms + 5) * 0x1p-24 * sizes;
      CAPTURE(layout(format).name, wide, t, r, y, right, rounding);
      REQUIRE(std::fabs(y - right) <= rounding);
      REQUIRE(std::fabs(y - unrounded) <= rounding + steps);
    }
}

// The same bits for any number of tokens, with the width known to the compiler or not, and for any division of the panels.
template <Format format, int Cols>
void check_identity(bool wide, int rows) {
  Random random(43);
  constexpr int most = 25;
  const Tensor tensor = random_tensor(format, rows, Cols, 0.5F, random);
  const Packed packed(tensor);
  const std::vector<float> bias = random.numbers((rows + 15) / 16 * 16);
  Inputs inputs(format, wide, random.numbers(most * Cols), Cols);
  const cpu::Activations x = inputs.view();
  const std::vector<float> all = product_of<format, cpu::run_time>(packed.matrix, bias.data(), x, most);
  REQUIRE(std::all_of(all.begin(), all.end(), [](float y) { return std::isfinite(y) && y != unwritten; }));
  const auto length = static_cast<std::size_t>(rows);
  for (int tokens = 1; tokens <= most; ++tokens) {
    CAPTURE(layout(format).name, wide, tokens);
    const std::vector<float> some = product_of<format, cpu::run_time>(packed.matrix, bias.data(), x, tokens);
    REQUIRE(same_bits(some, {all.data(), static_cast<std::size_t>(tokens) * length}));
    const std::vector<float> compiled = product_of<format, Cols>(packed.matrix, bias.data(), x, tokens);
    REQUIRE(same_bits(compiled, some));
  }
  // Divided among threads, each with its own reading order; rows of outputs farther apart than they are long, and nothing written between them.
  const std::size_t stride = length + 3;
  for (int parts = 1; parts <= packed.matrix.panels(); ++parts) {
    std::vector<float> out(7 * stride, unwritten);
    for (int part = 0; part < parts; ++part) {
      const int first = packed.matrix.panels() * part / parts, last = packed.matrix.panels() * (part + 1) / parts;
      const cpu::Segment order[] = {{packed.matrix.data + static_cast<std::size_t>(first) * packed.matrix.panel_bytes(), static_cast<std::size_t>(last - first) * packed.matrix.panel_bytes()}};
      cpu::Ahead ahead(order);
      cpu::product<format, cpu::run_time>(packed.matrix, bias.data(), x, 7, first, last, {out.data(), stride}, ahead);
    }
    for (std::size_t t = 0; t < 7; ++t) {
      CAPTURE(layout(format).name, wide, parts, t);
      REQUIRE(same_bits({out.data() + t * stride, length}, {all.data() + t * length, length}));
      for (std::size_t i = length; i < stride; ++i) REQUIRE(out[t * stride + i] == unwritten);
    }
  }
  // A value that is not a number reaches its own token's outputs, and no other's.
  std::vector<float> wrong = random.numbers(3 * Cols);
  wrong[Cols + 5] = std::nanf("");
  Inputs spoiled(format, wide, wrong, Cols);
  const std::vector<float> out = product_of<format, Cols>(packed.matrix, nullptr, spoiled.view(), 3);
  for (std::size_t i = 0; i < out.size(); ++i) REQUIRE(std::isnan(out[i]) == (i / length == 1));
}

template <Format format, int Cols>
void check_product() {
  for (const bool wide : {false, true}) {
    if (wide && !cpu::form_of(format).integers) continue;
    check_exact<format>(wide, 33, std::min(Cols, 256), 15);
    check_close<format>(wide, 37, Cols, 13);
    check_identity<format, Cols>(wide, 53);
  }
}

}  // namespace diecast::testing
