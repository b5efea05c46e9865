// RMSNorm, LayerNorm and RoPE of the CPU path against the reference's in double.
#include <diecast/cpu/norm.hpp>

#include <catch2/catch.hpp>

#include <cmath>

#include <diecast/cpu/rope.hpp>
#include <diecast/reference/norm.hpp>
#include <diecast/reference/rope.hpp>

#include "inputs.hpp"

using namespace diecast;
using testing::Random;
using Doubles = reference::Vector<double>;

namespace {

Doubles doubles(const std::vector<float>& x) { return Eigen::Map<const Eigen::VectorXf>(x.data(), static_cast<Eigen::Index>(x.size())).cast<double>(); }

// Sums of n squares in float have a relative error of n * 2^-24 at most; one in sixteen lanes far less. A few roundings come on top.
double bound(int size) { return (size / 16.0 + 12) * 0x1p-24; }

constexpr int sizes[] = {1, 7, 10, 15, 16, 17, 46, 80, 256, 1000, 3420};

}  // namespace

TEST_CASE("RMSNorm is the reference's") {
  Random random(31);
  for (const int size : sizes) {
    std::vector<float> x = random.numbers(size), weight = random.numbers(size);
    for (float& one : x) one *= 3;
    const Doubles right = reference::rms_norm<double>(doubles(x), doubles(weight), 1e-5);
    std::vector<float> y(static_cast<std::size_t>(size) + 16, 5.0F), in_place = x;
    cpu::rms_norm(x.data(), weight.data(), 1e-5F, size, y.data());
    cpu::rms_norm(in_place.data(), weight.data(), 1e-5F, size, in_place.data());
    for (int i = 0; i < size; ++i) {
      CAPTURE(size, i);
      REQUIRE(std::fabs(y[static_cast<std::size_t>(i)] - right[i]) <= bound(size) * std::fabs(right[i]));
      REQUIRE(in_place[static_cast<std::size_t>(i)] == y[static_cast<std::size_t>(i)]);
    }
    for (std::size_t i = static_cast<std::size_t>(size); i < y.size(); ++i) REQUIRE(y[i] == 5);  // nothing is written behind the end
  }
  std::vector<float> wrong(20, 1.0F), weight(20, 1.0F), y(20);
  wrong[18] = std::nanf("");
  cpu::rms_norm(wrong.data(), weight.data(), 1e-5F, 20, y.data());
  for (const float one : y) CHECK(std::isnan(one));
}

TEST_CASE("LayerNorm is the reference's, with a bias and without") {
  Random random(32);
  for (const int size : sizes) {
    std::vector<float> x = random.numbers(size), weight = random.numbers(size), bias = random.numbers(size);
    for (float& one : x) one = 2 * one + 0.7F;
    for (const bool with_bias : {true, false}) {
      const reference::NormFactors<double> factors{doubles(weight), with_bias ? doubles(bias) : Doubles()};
      const Doubles right = reference::layer_norm<double>(doubles(x), factors, 1e-3);
      std::vector<float> y(static_cast<std::size_t>(size) + 16, 5.0F);
      cpu::layer_norm(x.data(), weight.data(), with_bias ? bias.data() : nullptr, 1e-3F, size, y.data());
      for (int i = 0; i < size; ++i) {
        CAPTURE(size, i, with_bias);
        // The mean is subtracted from values up to 3: its rounding counts against them, scaled as they are (by at most 1 / sqrt(epsilon)).
        const double scale = size == 1 ? 32 : 4;
        REQUIRE(std::fabs(y[static_cast<std::size_t>(i)] - right[i]) <= bound(size) * (std::fabs(right[i]) + 3 * scale + 1));
      }
      for (std::size_t i = static_cast<std::size_t>(size); i < y.size(); ++i) REQUIRE(y[i] == 5);
    }
  }
}

TEST_CASE("RoPE turns pairs (i, i + half) as the reference does, at great positions, too") {
  Random random(33);
  for (const int head_dim : {2, 10, 14, 32, 64, 80, 256})
    for (const int position : {0, 1, 77, 131'071}) {
      const std::vector<double> frequencies = inverse_frequencies(Rope{.theta = 10'000}, head_dim);
      const auto half = static_cast<std::size_t>(head_dim / 2);
      std::vector<float> head = random.numbers(head_dim + 16), before = head;
      std::vector<double> right(head.begin(), head.begin() + head_dim);
      std::vector<float> turn(2 * half);
      cpu::turns(frequencies, 1.25, position, turn.data());
      cpu::rotate(head.data(), turn.data(), head_dim / 2);
      reference::rotate(right.data(), frequencies, position, 1.25);
      for (std::size_t i = 0; i < 2 * half; ++i) {
        CAPTURE(head_dim, position, i);
        REQUIRE(std::fabs(head[i] - right[i]) <= 4 * 1.25 * 0x1p-24 * 2);  // two rounded factors and two more roundings, values up to 1.25 * 2
      }
      for (std::size_t i = 2 * half; i < head.size(); ++i) REQUIRE(head[i] == before[i]);
    }
}
