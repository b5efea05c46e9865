// The 16-bit formats, bit by bit. Right values: IEEE 754's definition, evaluated with std::ldexp, and by hand for the borders of rounding.
#include <catch2/catch.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

#include <diecast/kernels/elements.hpp>

using namespace diecast::kernels;

namespace {

// The definition: (-1)^s * 2^(e-15) * (1 + m/1024), without the leading 1 where e is 0.
double half_value(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

std::uint16_t half_bits(double value) { return Stored<Half>::from(static_cast<float>(value)).bits; }
std::uint16_t bfloat_bits(float value) { return Stored<Bfloat16>::from(value).bits; }

}  // namespace

TEST_CASE("every half and bfloat16 value is read exactly and comes back as the same bits") {
  int wrong = 0;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = to_float(Half{half});
    if ((half & 0x7fff) > 0x7c00) {
      wrong += !std::isnan(value) || (half_bits(static_cast<double>(value)) & 0x7fff) <= 0x7c00;
    } else if ((half & 0x7fff) == 0x7c00) {
      wrong += !(std::isinf(value) && std::signbit(value) == ((half & 0x8000) != 0)) || half_bits(static_cast<double>(value)) != half;
    } else {
      wrong += !(static_cast<double>(value) == half_value(half)) || half_bits(static_cast<double>(value)) != half;
    }
    const float wide = to_float(Bfloat16{half});
    if (std::isnan(wide))
      wrong += (bfloat_bits(wide) & 0x7fff) <= 0x7f80;
    else
      wrong += bfloat_bits(wide) != half;
  }
  CHECK(wrong == 0);
}

TEST_CASE("storing rounds to nearest, ties to even") {
  CHECK(half_bits(1.0 + 0x1p-11) == 0x3c00);             // tie between 1 and its successor: even
  CHECK(half_bits(1.0 + 3 * 0x1p-11) == 0x3c02);         // tie upwards
  CHECK(half_bits(1.0 + 0x1p-11 + 0x1p-20) == 0x3c01);   // just above the tie
  CHECK(half_bits(2.0 - 0x1p-12) == 0x4000);             // the carry reaches the exponent
  CHECK(half_bits(65519.0) == 0x7bff);                   // below the middle between 65504 and 65536
  CHECK(half_bits(65520.0) == 0x7c00);                   // the middle: to even, which is infinity
  CHECK(half_bits(-1e30) == 0xfc00);
  CHECK(half_bits(0x1p-14 - 0x1p-25) == 0x0400);         // the largest subnormal's upper half rounds into the normals
  CHECK(half_bits(0x1p-24) == 0x0001);
  CHECK(half_bits(0x1p-25) == 0x0000);                   // tie between 0 and the smallest
  CHECK(half_bits(0x1p-25 + 0x1p-40) == 0x0001);
  CHECK(half_bits(-0x1p-26) == 0x8000);
  CHECK(half_bits(3 * 0x1p-25) == 0x0002);               // tie between 1 and 2 units: even

  CHECK(bfloat_bits(1.0f + 0x1p-8f) == 0x3f80);
  CHECK(bfloat_bits(1.0f + 3 * 0x1p-8f) == 0x3f82);
  CHECK(bfloat_bits(1.0f + 0x1p-8f + 0x1p-20f) == 0x3f81);
  CHECK(bfloat_bits(std::numeric_limits<float>::max()) == 0x7f80);
  CHECK(bfloat_bits(-std::numeric_limits<float>::infinity()) == 0xff80);
}
