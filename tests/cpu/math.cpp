// exp, tanh, erf and the activations against the standard library in double, with the bounds that math.hpp states.
#include <diecast/cpu/math.hpp>

#include <catch2/catch.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

using namespace diecast;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

template <class F>
float single(const F& f, float x) {
  std::array<float, 16> out;
  cpu::store(out.data(), f(cpu::broadcast(x)));
  return out[7];
}

// check(x, f(x)) for values in steps from one end to the other, sixteen at once, and for values around 0 of every size.
template <class F, class Check>
void sweep(const F& f, float from, float to, const Check& check) {
  std::array<float, 16> x, y;
  constexpr int count = 400'000;
  for (int first = 0; first < count; first += 16) {
    for (int i = 0; i < 16; ++i) x[static_cast<std::size_t>(i)] = from + (to - from) * (static_cast<float>(first + i) / count);
    cpu::store(y.data(), f(cpu::load(x.data())));
    for (std::size_t i = 0; i < 16; ++i)
      if (!check(x[i], y[i])) {
        CAPTURE(x[i], y[i]);
        REQUIRE(false);
      }
  }
  for (int exponent = -140; exponent < 0; ++exponent)
    for (const float sign : {1.0F, -1.0F}) {
      const float one = sign * std::ldexp(1.37F, exponent);
      CAPTURE(one, single(f, one));
      REQUIRE(check(one, single(f, one)));
    }
}

const auto vector_exp = [](cpu::Floats x) { return cpu::exp(x); };
const auto vector_tanh = [](cpu::Floats x) { return cpu::tanh(x); };
const auto vector_erf = [](cpu::Floats x) { return cpu::erf(x); };

double exact(Activation activation, double x) {
  switch (activation) {
    case Activation::silu: return x / (1 + std::exp(-x));
    case Activation::gelu: return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case Activation::gelu_tanh: return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::relu: return x > 0 ? x : 0;
  }
  return 0;
}

// `absolute` where |x| <= 1, and as much more as x is greater: the function is x times something between 0 and 1 that has this error.
template <Activation activation>
void check_activation(double absolute) {
  const auto f = [](cpu::Floats x) { return cpu::activate<activation>(x); };
  sweep(f, -30, 30, [&](float x, float y) { return std::fabs(y - exact(activation, x)) <= absolute * std::fmax(1.0, std::fabs(x)); });
  for (const float x : {1e3F, 1e6F, 1e15F, 1e30F}) {
    CHECK(std::fabs(single(f, x) - exact(activation, x)) <= 2e-7 * x);
    CHECK(std::fabs(single(f, -x)) <= 1e-7);
  }
  CHECK(single(f, 0) == 0);
  CHECK(single(f, infinity) == infinity);
  CHECK(std::isnan(single(f, not_a_number)));
}

}  // namespace

TEST_CASE("exp has a relative error of 2e-7 at most") {
  sweep(vector_exp, -87, 88, [](float x, float y) { return std::fabs(y / std::exp(static_cast<double>(x)) - 1) <= 2e-7; });
}

TEST_CASE("exp at its ends") {
  CHECK(single(vector_exp, 0.0F) == 1.0F);
  CHECK(single(vector_exp, -0.0F) == 1.0F);
  for (const float x : {-87.4F, -100.0F, -1e30F, -infinity}) CHECK(single(vector_exp, x) == 0.0F);
  for (const float x : {89.0F, 1e30F, infinity}) {  // bounded, so that it is finite
    CHECK(single(vector_exp, x) > 2e38F);
    CHECK(std::isfinite(single(vector_exp, x)));
  }
  CHECK(std::isnan(single(vector_exp, not_a_number)));
  CHECK(std::isnan(single(vector_exp, -not_a_number)));
}

TEST_CASE("a value's result does not depend on its lane or its neighbours") {
  std::array<float, 16> x, y;
  for (std::size_t i = 0; i < 16; ++i) x[i] = static_cast<float>(i) * 1.7F - 11;
  x[5] = infinity, x[6] = not_a_number;
  const auto check = [&](const auto& f) {
    cpu::store(y.data(), f(cpu::load(x.data())));
    for (std::size_t i = 0; i < 16; ++i) {
      const float alone = single(f, x[i]);
      CHECK((alone != alone ? y[i] != y[i] : std::memcmp(&alone, &y[i], 4) == 0));
    }
  };
  check(vector_exp);
  check(vector_tanh);
  check(vector_erf);
}

TEST_CASE("tanh has an absolute error of 3e-7 at most") {
  sweep(vector_tanh, -25, 25, [](float x, float y) { return std::fabs(y - std::tanh(static_cast<double>(x))) <= 3e-7 && std::fabs(y) <= 1; });
  sweep(vector_tanh, -1, 1, [](float x, float y) { return std::fabs(y - std::tanh(static_cast<double>(x))) <= 3e-7; });
  CHECK(single(vector_tanh, 0) == 0);
  CHECK(single(vector_tanh, infinity) == 1);
  CHECK(single(vector_tanh, -infinity) == -1);
  CHECK(std::isnan(single(vector_tanh, not_a_number)));
}

TEST_CASE("erf has an absolute error of 7e-7 at most") {
  sweep(vector_erf, -8, 8, [](float x, float y) { return std::fabs(y - std::erf(static_cast<double>(x))) <= 7e-7; });
  CHECK(single(vector_erf, 1e30F) == 1);
  CHECK(single(vector_erf, -infinity) == -1);
  CHECK(std::isnan(single(vector_erf, not_a_number)));
}

TEST_CASE("activations are those of the reference's formulas in double") {
  check_activation<Activation::silu>(4e-7);       // the error of exp, and of three roundings
  check_activation<Activation::gelu>(5e-7);       // half of erf's, and of three roundings
  check_activation<Activation::gelu_tanh>(5e-7);  // half of tanh's, its argument's rounding (its slope is below 1), and of three roundings
  check_activation<Activation::relu>(0);
}
