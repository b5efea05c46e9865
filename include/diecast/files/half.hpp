// IEEE half and bfloat16 to float by their bits: every one of the 65,536 values exactly, subnormals, infinities and NaN included.
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

// bfloat16 is the upper half of a float.
constexpr float bfloat_to_float(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

}  // namespace diecast
