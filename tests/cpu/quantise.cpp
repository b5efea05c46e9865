// Activations to integers: the rule is that the greatest of 32 becomes 127 (wide: 16,256), rounding is to the nearest, and what is not a number is not lost.
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
  explicit Quantised(const std::vector<float>& values, bool wide, int count = 1) : rows(count, static_cast<int>(values.size()) / count), x(rows.view(wide)) {
    const auto cols = values.size() / static_cast<std::size_t>(count);
    for (int r = 0; r < count; ++r) {
      std::copy_n(values.data() + static_cast<std::size_t>(r) * cols, cols, rows.row(r));
      cpu::quantise(x, r);
    }
  }
  int integer(std::size_t at) const { return x.lower ? x.integers[at] * 128 + x.lower[at] : x.integers[at]; }
};

}  // namespace

TEST_CASE("integers are the nearest multiples of the greatest value's part, and sums are theirs") {
  for (const bool wide : {false, true}) {
    Random random(21);
    const double parts = wide ? 16256 : 127;
    constexpr int rows = 3, cols = 96;
    std::vector<float> values = random.numbers(rows * cols);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] *= std::ldexp(1.0F, static_cast<int>(i / 32) - 4);
    const Quantised quantised(values, wide, rows);
    for (std::size_t block = 0; block < rows * cols / 32; ++block) {
      const float* const of = values.data() + 32 * block;
      double most = 0;
      for (int i = 0; i < 32; ++i) most = std::fmax(most, std::fabs(of[i]));
      CHECK(quantised.x.scales[block] == static_cast<float>(most) / static_cast<float>(parts));
      int sums[2] = {0, 0}, greatest = 0;
      for (std::size_t i = 0; i < 32; ++i) {
        const int integer = quantised.integer(32 * block + i);
        CAPTURE(wide, block, i, of[i], integer);
        CHECK(std::abs(integer - of[i] * parts / most) <= 0.5 + parts * 0x1p-23);  // the quotient is rounded twice
        sums[i / 16] += integer;
        greatest = std::max(greatest, std::abs(integer));
        if (wide) CHECK(std::abs(quantised.x.lower[32 * block + i]) <= 64);
      }
      CHECK(greatest == parts);
      CHECK(quantised.x.sums[block] == quantised.x.scales[block] * static_cast<float>(sums[0] + sums[1]));
      CHECK(quantised.x.offsets[block] == -128 * (sums[0] + sums[1]));
      CHECK(quantised.x.offsets16[2 * block] == -128 * sums[0]);
      CHECK(quantised.x.offsets16[2 * block + 1] == -128 * sums[1]);
    }
  }
}

TEST_CASE("whole numbers with the greatest among them are exact") {
  for (const bool wide : {false, true})
    for (const int sign : {1, -1}) {
      Random random(22);
      const int most = wide ? 16256 : 127;
      std::vector<float> values(64);
      for (float& one : values) one = static_cast<float>(random.integer(-most, most));
      values[5] = static_cast<float>(most * sign);
      values[60] = static_cast<float>(-most * sign);
      const Quantised quantised(values, wide);
      for (std::size_t i = 0; i < 64; ++i) CHECK(quantised.integer(i) == static_cast<int>(values[i]));
      CHECK(quantised.x.scales[0] == 1);
      CHECK(quantised.x.scales[1] == 1);
    }
}

TEST_CASE("zeros and values too small for a quotient become zeros") {
  for (const bool wide : {false, true}) {
    for (const float value : {0.0F, -0.0F, 1e-31F, -1e-38F, std::numeric_limits<float>::denorm_min()}) {
      const Quantised quantised(std::vector<float>(32, value), wide);
      CHECK(std::isfinite(quantised.x.scales[0]));
      CHECK(quantised.x.sums[0] == 0);
      CHECK(quantised.x.offsets[0] == 0);
      for (std::size_t i = 0; i < 32; ++i) CHECK(quantised.integer(i) == 0);
    }
    for (const float value : {2e-30F, 1e-20F, 3e38F, (std::numeric_limits<float>::max)()}) {
      const Quantised quantised(std::vector<float>(32, value), wide);
      const int most = wide ? 16256 : 127;
      CHECK(quantised.x.scales[0] == value / static_cast<float>(most));
      for (std::size_t i = 0; i < 32; ++i) CHECK(std::abs(quantised.integer(i) - most) <= (wide ? 1 : 0));  // the quotient is rounded
    }
  }
}

TEST_CASE("a value that is not a number makes the block's scale none, and no other block's") {
  for (const bool wide : {false, true})
    for (const float value : {not_a_number, -not_a_number, infinity, -infinity})
      for (std::size_t at = 0; at < 32; ++at) {
        std::vector<float> values(96, 0.25F);
        values[32 + at] = value;
        const Quantised quantised(values, wide);
        CAPTURE(wide, value, at);
        CHECK_FALSE(std::isfinite(quantised.x.scales[1]));
        CHECK_FALSE(std::isfinite(quantised.x.sums[1]));
        for (const std::size_t other : {std::size_t{0}, std::size_t{2}}) CHECK(std::isfinite(quantised.x.sums[other]));
      }
}
