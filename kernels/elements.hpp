// Values as memory holds them: float, and the two 16-bit formats as their bits, converted here in integer arithmetic that is
// the same on host and device. Storing rounds to nearest, ties to even; a NaN stays a NaN. Source: IEEE 754 binary16; bfloat16
// is the upper half of binary32.
#pragma once

#include <cstdint>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

struct Half {
  std::uint16_t bits;
};
struct Bfloat16 {
  std::uint16_t bits;
};

DIECAST_HOST_DEVICE constexpr float to_float(float value) { return value; }
DIECAST_HOST_DEVICE constexpr float to_float(Bfloat16 value) { return __builtin_bit_cast(float, static_cast<std::uint32_t>(value.bits) << 16); }
DIECAST_HOST_DEVICE constexpr float to_float(Half value) {
  const std::uint32_t sign = (value.bits & 0x8000u) << 16;
  const std::uint32_t magnitude = value.bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return __builtin_bit_cast(float, sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude < 0x400u) {  // subnormal: magnitude * 2^-24, exact
    const float value_of = static_cast<float>(magnitude) * 0x1p-24f;
    return sign != 0 ? -value_of : value_of;
  }
  return __builtin_bit_cast(float, sign | ((magnitude << 13) + 0x38000000u));  // the exponent's bias: 127 - 15
}

// How a value is stored as T.
template <class T>
struct Stored;

template <>
struct Stored<float> {
  DIECAST_HOST_DEVICE static constexpr float from(float value) { return value; }
};

template <>
struct Stored<Bfloat16> {
  DIECAST_HOST_DEVICE static constexpr Bfloat16 from(float value) {
    const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>((bits >> 16) | 0x40u)};
    return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
  }
};

template <>
struct Stored<Half> {
  DIECAST_HOST_DEVICE static constexpr Half from(float value) {
    const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value);
    const std::uint32_t sign = (bits >> 16) & 0x8000u;
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return {static_cast<std::uint16_t>(sign | 0x7e00u)};
    if (magnitude >= 0x47800000u) return {static_cast<std::uint16_t>(sign | 0x7c00u)};  // 2^16 and more: infinity
    if (magnitude >= 0x38800000u) {  // normal as half; a carry out of the mantissa reaches the exponent, as it should
      const std::uint32_t rebased = magnitude - 0x38000000u;
      return {static_cast<std::uint16_t>(sign | (rebased + 0xfffu + ((rebased >> 13) & 1u)) >> 13)};
    }
    if (magnitude < 0x33000000u) return {static_cast<std::uint16_t>(sign)};  // below half of the smallest subnormal
    const std::uint32_t shift = 126u - (magnitude >> 23);                    // subnormal: count in units of 2^-24
    const std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    const std::uint32_t kept = mantissa >> shift;
    const std::uint32_t rest = mantissa & ((1u << shift) - 1u);
    const std::uint32_t middle = 1u << (shift - 1u);
    const std::uint32_t up = rest > middle || (rest == middle && (kept & 1u) != 0) ? 1u : 0u;
    return {static_cast<std::uint16_t>(sign | (kept + up))};
  }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
