// IEEE half and bfloat16 to float (and float to half) by their bits: every one of the 65,536 values exactly, subnormals, infinities and NaN included.
// Written out because not every CPU has an instruction for it and the result must not depend on one.
#pragma once

#include <bit>
#include <cstdint>

namespace diecast {

// 1 sign, 5 exponent (bias 15), 10 fraction bits.
constexpr float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fU;
  const std::uint32_t fraction = bits & 0x3ffU;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24, which a float holds exactly
    const float value = static_cast<float>(fraction) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | (fraction << 13));
  return std::bit_cast<float>(sign | ((exponent + 127 - 15) << 23) | (fraction << 13));
}

// To the nearest half, ties to even; beyond the greatest half lies infinity. NaN stays NaN.
constexpr std::uint16_t float_to_half(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  const std::uint32_t size = bits & 0x7fffffffU;
  if (size > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00U | (size >> 13 & 0x3ffU));
  if (size >= 0x47800000U) return static_cast<std::uint16_t>(sign | 0x7c00U);  // 65536 and more
  if (size < 0x38800000U) {  // below 2^-14: steps of 2^-24, which adding 0.5 rounds to
    const float shifted = std::bit_cast<float>(size) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U));
  }
  const std::uint32_t odd = size >> 13 & 1U;
  return static_cast<std::uint16_t>(sign | (size - 0x38000000U + 0xfffU + odd) >> 13);  // a carry may reach infinity, rightly
}

// bfloat16 is the upper half of a float.
constexpr float bfloat_to_float(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

// To the nearest, ties to even. NaN stays NaN.
constexpr std::uint16_t float_to_bfloat(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>(bits >> 16 | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

}  // namespace diecast
