// Activations to integers: the rule is that the greatest of 32 becomes 127, rounding is to the nearest, and what is not a number is not lost.
#include <diecast/cpu/quantise.hpp>

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

#include <diecast/cpu/work_buffers.hpp>

#include "inputs.hpp"

using namespace diecast;
using testing::Random;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

struct Quantised {
  cpu::ActivationRows rows;
  cpu::Activations x;
  explicit Quantised(const std::vector<float>& values, int count = 1) : rows(count, static_cast<int>(values.size()) / count), x(rows.view()) {
    const auto cols = values.size() / static_cast<std::size_t>(count);
    for (int r = 0; r < count; ++r) {
      std::copy_n(values.data() + static_cast<std::size_t>(r) * cols, cols, rows.row(r));
      cpu::quantise(x, r);
    }
  }
};

// One block with this value among zeros.
Quantised with(float value, std::size_t at = 9) {
  std::vector<float> values(32, 0.25F);
  values[at] = value;
  return Quantised(values);
}

}  // namespace

TEST_CASE("integers are the nearest multiples of the greatest value's 127th, and sums are theirs") {
  Random random(21);
  constexpr int rows = 3, cols = 96;
  std::vector<float> values = random.numbers(rows * cols);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= std::ldexp(1.0F, static_cast<int>(i / 32) - 4);
  const Quantised quantised(values, rows);
  for (int block = 0; block < rows * cols / 32; ++block) {
    const float* const of = values.data() + 32 * block;
    double most = 0;
    for (int i = 0; i < 32; ++i) most = std::fmax(most, std::fabs(of[i]));
    const auto b = static_cast<std::size_t>(block);
    CHECK(quantised.x.scales[b] == static_cast<float>(most) / 127.0F);
    int sums[2] = {0, 0}, greatest = 0;
    for (int i = 0; i < 32; ++i) {
      const int integer = quantised.x.integers[32 * block + i];
      CAPTURE(block, i, of[i], integer);
      CHECK(std::abs(integer - of[i] * 127.0 / most) <= 0.5 + 127 * 0x1p-23);  // the quotient is rounded twice
      sums[i / 16] += integer;
      greatest = std::max(greatest, std::abs(integer));
    }
    CHECK(greatest == 127);
    CHECK(quantised.x.sums[b] == quantised.x.scales[b] * static_cast<float>(sums[0] + sums[1]));
    CHECK(quantised.x.offsets[b] == -128 * (sums[0] + sums[1]));
    CHECK(quantised.x.offsets16[2 * b] == -128 * sums[0]);
    CHECK(quantised.x.offsets16[2 * b + 1] == -128 * sums[1]);
  }
}

TEST_CASE("whole numbers with 127 among them are exact") {
  Random random(22);
  for (const int sign : {1, -1}) {
    std::vector<float> values(64);
    for (float& one : values) one = static_cast<float>(random.integer(-127, 127));
    values[5] = static_cast<float>(127 * sign);
    values[60] = static_cast<float>(-127 * sign);
    const Quantised quantised(values);
    for (std::size_t i = 0; i < 64; ++i) CHECK(quantised.x.integers[i] == static_cast<int>(values[i]));
    CHECK(quantised.x.scales[0] == 1);
    CHECK(quantised.x.scales[1] == 1);
  }
}

TEST_CASE("zeros and values too small for a quotient become zeros") {
  for (const float value : {0.0F, -0.0F, 1e-31F, -1e-38F, std::numeric_limits<float>::denorm_min()}) {
    const Quantised quantised(std::vector<float>(32, value));
    CHECK(std::isfinite(quantised.x.scales[0]));
    CHECK(quantised.x.sums[0] == 0);
    CHECK(quantised.x.offsets[0] == 0);
    for (std::size_t i = 0; i < 32; ++i) CHECK(quantised.x.integers[i] == 0);
  }
  for (const float value : {2e-30F, 1e-20F, 3e38F, (std::numeric_limits<float>::max)()}) {
    const Quantised quantised(std::vector<float>(32, value));
    CHECK(quantised.x.scales[0] == value / 127.0F);
    for (std::size_t i = 0; i < 32; ++i) CHECK(quantised.x.integers[i] == 127);
  }
}

TEST_CASE("a value that is not a number makes the block's scale none") {
  for (const float value : {not_a_number, -not_a_number, infinity, -infinity})
    for (std::size_t at = 0; at < 32; ++at) {
      const Quantised quantised = with(value, at);
      CAPTURE(value, at);
      CHECK_FALSE(std::isfinite(quantised.x.scales[0]));
      CHECK_FALSE(std::isfinite(quantised.x.sums[0]));
      for (std::size_t i = 0; i < 32; ++i) CHECK(quantised.x.integers[i] >= -127);
    }
}
