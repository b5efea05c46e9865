// Sixteen lanes in plain C++: loops of fixed length that any compiler turns into the vectors it has.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <diecast/files/half.hpp>

#include <diecast/isa_begin.hpp>

#if !(defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)) && !(defined(__aarch64__) && defined(__ARM_NEON))

namespace diecast::cpu::inline DIECAST_ISA {

struct Floats {
  std::array<float, 16> v;
};
struct Ints {
  std::array<std::int32_t, 16> v;
};
struct Bytes {
  std::array<std::uint8_t, 64> v;
};

namespace inner {
template <class Out, class F>
inline Out each(const F& f) {
  Out out;
  for (std::size_t i = 0; i < out.v.size(); ++i) out.v[i] = f(i);
  return out;
}
}  // namespace inner

inline Floats broadcast(float x) { return inner::each<Floats>([=](std::size_t) { return x; }); }
inline Floats load(const float* at) { return inner::each<Floats>([=](std::size_t i) { return at[i]; }); }
inline void store(float* at, const Floats& x) {
  for (std::size_t i = 0; i < 16; ++i) at[i] = x.v[i];
}
inline Floats load_first(const float* at, int count) {
  Floats out{};
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) out.v[i] = at[i];
  return out;
}
inline void store_first(float* at, const Floats& x, int count) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) at[i] = x.v[i];
}
inline Floats load(const std::uint16_t* halfs) { return inner::each<Floats>([=](std::size_t i) { return half_to_float(halfs[i]); }); }
inline Floats load_bfloats(const std::uint16_t* at) { return inner::each<Floats>([=](std::size_t i) { return bfloat_to_float(at[i]); }); }
inline void store_halfs(std::uint16_t* at, const Floats& x) {
  for (std::size_t i = 0; i < 16; ++i) at[i] = float_to_half(x.v[i]);
}

inline Floats operator+(const Floats& x, const Floats& y) { return inner::each<Floats>([&](std::size_t i) { return x.v[i] + y.v[i]; }); }
inline Floats operator-(const Floats& x, const Floats& y) { return inner::each<Floats>([&](std::size_t i) { return x.v[i] - y.v[i]; }); }
inline Floats operator*(const Floats& x, const Floats& y) { return inner::each<Floats>([&](std::size_t i) { return x.v[i] * y.v[i]; }); }
inline Floats operator/(const Floats& x, const Floats& y) { return inner::each<Floats>([&](std::size_t i) { return x.v[i] / y.v[i]; }); }
// One rounding where the machine has the instruction, two everywhere else: never a choice of the compiler's.
inline Floats fma(const Floats& x, const Floats& y, const Floats& z) {
#if defined(__FP_FAST_FMAF)
  return inner::each<Floats>([&](std::size_t i) { return std::fma(x.v[i], y.v[i], z.v[i]); });
#else
  return inner::each<Floats>([&](std::size_t i) { return x.v[i] * y.v[i] + z.v[i]; });
#endif
}
inline Floats larger(const Floats& x, const Floats& y) { return inner::each<Floats>([&](std::size_t i) { return x.v[i] > y.v[i] ? x.v[i] : y.v[i]; }); }
inline Floats smaller(const Floats& x, const Floats& y) { return inner::each<Floats>([&](std::size_t i) { return x.v[i] < y.v[i] ? x.v[i] : y.v[i]; }); }
inline Floats abs(const Floats& x) { return inner::each<Floats>([&](std::size_t i) { return std::fabs(x.v[i]); }); }
inline Floats within(int from, int to, const Floats& x, const Floats& y) {
  return inner::each<Floats>([&](std::size_t i) { return static_cast<int>(i) >= from && static_cast<int>(i) < to ? x.v[i] : y.v[i]; });
}
inline Floats where_less(const Floats& x, const Floats& y, const Floats& p, const Floats& q) {
  return inner::each<Floats>([&](std::size_t i) { return x.v[i] < y.v[i] ? p.v[i] : q.v[i]; });
}
inline float sum(Floats x) {
  for (std::size_t half = 8; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) x.v[i] += x.v[i + half];
  return x.v[0];
}
inline float greatest(const Floats& x) {
  float most = x.v[0];
  for (const float one : x.v) most = one > most ? one : most;
  return most;
}

inline Ints zero_ints() { return {}; }
inline Ints broadcast_int(std::int32_t x) { return inner::each<Ints>([=](std::size_t) { return x; }); }
inline Floats to_floats(const Ints& x) { return inner::each<Floats>([&](std::size_t i) { return static_cast<float>(x.v[i]); }); }
inline Ints as_ints(const Floats& x) { return std::bit_cast<Ints>(x); }
inline Floats as_floats(const Ints& x) { return std::bit_cast<Floats>(x); }
inline Ints operator+(const Ints& x, const Ints& y) { return inner::each<Ints>([&](std::size_t i) { return x.v[i] + y.v[i]; }); }
inline Ints operator-(const Ints& x, const Ints& y) { return inner::each<Ints>([&](std::size_t i) { return x.v[i] - y.v[i]; }); }
template <int Bits>
Ints shift_left(const Ints& x) {
  return inner::each<Ints>([&](std::size_t i) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(x.v[i]) << Bits); });
}
template <int Bits>
Ints shift_right(const Ints& x) { return inner::each<Ints>([&](std::size_t i) { return x.v[i] >> Bits; }); }
inline Ints load_signed_bytes(const std::int8_t* at) { return inner::each<Ints>([=](std::size_t i) { return static_cast<std::int32_t>(at[i]); }); }
inline Ints load_unsigned_bytes(const std::uint8_t* at) { return inner::each<Ints>([=](std::size_t i) { return static_cast<std::int32_t>(at[i]); }); }
inline std::int32_t sum(const Ints& x) {
  std::int32_t total = 0;
  for (const std::int32_t one : x.v) total += one;
  return total;
}
inline Ints round_to_ints(const Floats& x) {
  // Adding 1.5 * 2^23 rounds to the nearest, ties to even. What is not a number becomes the least: its scale says that it is not.
  return inner::each<Ints>([&](std::size_t i) {
    const float shifted = x.v[i] + 12'582'912.0F;
    return x.v[i] >= -16256.5F && x.v[i] <= 16256.5F ? static_cast<std::int32_t>(shifted - 12'582'912.0F) : -16256;
  });
}
inline void store_bytes(std::int8_t* to, const Ints& x) {
  for (std::size_t i = 0; i < 16; ++i) to[i] = static_cast<std::int8_t>(x.v[i]);
}

inline Bytes load_bytes(const std::uint8_t* at) { return inner::each<Bytes>([=](std::size_t i) { return at[i]; }); }
inline Bytes low_nibbles(const Bytes& x) { return inner::each<Bytes>([&](std::size_t i) { return static_cast<std::uint8_t>(x.v[i] & 15U); }); }
inline Bytes high_nibbles(const Bytes& x) { return inner::each<Bytes>([&](std::size_t i) { return static_cast<std::uint8_t>(x.v[i] >> 4); }); }
inline Bytes high_nibbles_x16(const Bytes& x) { return inner::each<Bytes>([&](std::size_t i) { return static_cast<std::uint8_t>(x.v[i] & 240U); }); }
template <int Shift, int Mask>
Bytes put_bits(const Bytes& low, const Bytes& high) {
  return inner::each<Bytes>([&](std::size_t i) {
    const unsigned bits = Shift >= 0 ? static_cast<unsigned>(high.v[i]) << (Shift >= 0 ? Shift : 0) : static_cast<unsigned>(high.v[i]) >> (Shift < 0 ? -Shift : 0);
    return static_cast<std::uint8_t>(low.v[i] | (bits & static_cast<unsigned>(Mask)));
  });
}

inline constexpr bool takes_x16 = true;

struct Quad {
  std::array<std::int8_t, 4> v;
};
inline Quad quad(const std::int8_t* at) { return {{at[0], at[1], at[2], at[3]}}; }
template <int Bits>
Ints dot(Ints acc, const Bytes& weights, const Quad& numbers) {
  for (std::size_t lane = 0; lane < 16; ++lane)
    for (std::size_t i = 0; i < 4; ++i) acc.v[lane] += static_cast<std::int32_t>(weights.v[4 * lane + i]) * numbers.v[i];
  return acc;
}

inline void prefetch(const std::byte* at) { __builtin_prefetch(at, 0, 2); }

}  // namespace diecast::cpu::inline DIECAST_ISA

#endif

#include <diecast/isa_end.hpp>
