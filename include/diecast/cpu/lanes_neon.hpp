// Sixteen lanes on Arm's NEON: four registers each. With Armv8.2's dot products one instruction takes sixteen bytes; without them it takes four.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <diecast/cpu/intrinsics.hpp>

#include <diecast/isa_begin.hpp>

#if defined(__aarch64__) && defined(__ARM_NEON)

namespace diecast::cpu::inline DIECAST_ISA {

struct Floats {
  float32x4_t a, b, c, d;
};
struct Ints {
  int32x4_t a, b, c, d;
};
struct Bytes {
  uint8x16_t a, b, c, d;
};

namespace inner {
// The same with each of the four registers.
template <class Out, class F, class... In>
[[gnu::always_inline]] inline Out each(const F& f, const In&... in) {
  return {f(in.a...), f(in.b...), f(in.c...), f(in.d...)};
}
// Sixteen numbers of which memory has the first `count` only; zeros behind them.
struct Sixteen {
  float v[16] = {};
};
}  // namespace inner

inline Floats broadcast(float x) { return {vdupq_n_f32(x), vdupq_n_f32(x), vdupq_n_f32(x), vdupq_n_f32(x)}; }
inline Floats load(const float* at) { return {vld1q_f32(at), vld1q_f32(at + 4), vld1q_f32(at + 8), vld1q_f32(at + 12)}; }
inline void store(float* at, Floats x) {
  vst1q_f32(at, x.a);
  vst1q_f32(at + 4, x.b);
  vst1q_f32(at + 8, x.c);
  vst1q_f32(at + 12, x.d);
}
inline Floats load_first(const float* at, int count) {
  inner::Sixteen first;
  std::memcpy(first.v, at, sizeof(float) * static_cast<std::size_t>(count));
  return load(first.v);
}
inline void store_first(float* at, Floats x, int count) {
  inner::Sixteen all;
  store(all.v, x);
  std::memcpy(at, all.v, sizeof(float) * static_cast<std::size_t>(count));
}
inline Floats load(const std::uint16_t* halfs) {
  const auto four = [](const std::uint16_t* at) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(at))); };
  return {four(halfs), four(halfs + 4), four(halfs + 8), four(halfs + 12)};
}
inline Floats load_bfloats(const std::uint16_t* bfloats) {
  const auto four = [](const std::uint16_t* at) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(at), 16)); };
  return {four(bfloats), four(bfloats + 4), four(bfloats + 8), four(bfloats + 12)};
}
inline void store_halfs(std::uint16_t* to, Floats x) {
  const auto four = [](float32x4_t y) { return vreinterpret_u16_f16(vcvt_f16_f32(y)); };
  vst1_u16(to, four(x.a));
  vst1_u16(to + 4, four(x.b));
  vst1_u16(to + 8, four(x.c));
  vst1_u16(to + 12, four(x.d));
}

inline Floats operator+(Floats x, Floats y) { return {x.a + y.a, x.b + y.b, x.c + y.c, x.d + y.d}; }
inline Floats operator-(Floats x, Floats y) { return {x.a - y.a, x.b - y.b, x.c - y.c, x.d - y.d}; }
inline Floats operator*(Floats x, Floats y) {
  return inner::each<Floats>([](float32x4_t p, float32x4_t q) { return vmulq_f32(p, q); }, x, y);
}
inline Floats operator/(Floats x, Floats y) {
  return inner::each<Floats>([](float32x4_t p, float32x4_t q) { return vdivq_f32(p, q); }, x, y);
}
inline Floats fma(Floats x, Floats y, Floats z) {
  return inner::each<Floats>([](float32x4_t p, float32x4_t q, float32x4_t r) { return vfmaq_f32(r, p, q); }, x, y, z);
}
// y where either is NaN, which FMAX would give.
inline Floats larger(Floats x, Floats y) {
  return inner::each<Floats>([](float32x4_t p, float32x4_t q) { return vbslq_f32(vcgtq_f32(p, q), p, q); }, x, y);
}
inline Floats smaller(Floats x, Floats y) {
  return inner::each<Floats>([](float32x4_t p, float32x4_t q) { return vbslq_f32(vcltq_f32(p, q), p, q); }, x, y);
}
inline Floats abs(Floats x) {
  return inner::each<Floats>([](float32x4_t p) { return vabsq_f32(p); }, x);
}
inline Floats within(int from, int to, Floats x, Floats y) {
  const auto four = [&](int first, float32x4_t in, float32x4_t out) {
    const std::int32_t numbers[4] = {first, first + 1, first + 2, first + 3};
    const int32x4_t lane = vld1q_s32(numbers);
    return vbslq_f32(vandq_u32(vcgeq_s32(lane, vdupq_n_s32(from)), vcltq_s32(lane, vdupq_n_s32(to))), in, out);
  };
  return {four(0, x.a, y.a), four(4, x.b, y.b), four(8, x.c, y.c), four(12, x.d, y.d)};
}
inline Floats where_less(Floats x, Floats y, Floats p, Floats q) {
  return inner::each<Floats>([](float32x4_t s, float32x4_t t, float32x4_t yes, float32x4_t no) { return vbslq_f32(vcltq_f32(s, t), yes, no); }, x, y, p, q);
}

inline float sum(Floats x) {
  const float32x4_t four = vaddq_f32(vaddq_f32(x.a, x.c), vaddq_f32(x.b, x.d));
  const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}
inline float greatest(Floats x) { return vmaxvq_f32(vmaxq_f32(vmaxq_f32(x.a, x.b), vmaxq_f32(x.c, x.d))); }

inline Ints broadcast_int(std::int32_t x) { return {vdupq_n_s32(x), vdupq_n_s32(x), vdupq_n_s32(x), vdupq_n_s32(x)}; }
inline Ints zero_ints() { return broadcast_int(0); }
inline Floats to_floats(Ints x) {
  return inner::each<Floats>([](int32x4_t p) { return vcvtq_f32_s32(p); }, x);
}
inline Ints as_ints(Floats x) {
  return inner::each<Ints>([](float32x4_t p) { return vreinterpretq_s32_f32(p); }, x);
}
inline Floats as_floats(Ints x) {
  return inner::each<Floats>([](int32x4_t p) { return vreinterpretq_f32_s32(p); }, x);
}
inline Ints operator+(Ints x, Ints y) {
  return inner::each<Ints>([](int32x4_t p, int32x4_t q) { return vaddq_s32(p, q); }, x, y);
}
inline Ints operator-(Ints x, Ints y) {
  return inner::each<Ints>([](int32x4_t p, int32x4_t q) { return vsubq_s32(p, q); }, x, y);
}
template <int Bits>
Ints shift_left(Ints x) {
  return inner::each<Ints>([](int32x4_t p) { return vshlq_n_s32(p, Bits); }, x);
}
template <int Bits>
Ints shift_right(Ints x) {
  return inner::each<Ints>([](int32x4_t p) { return vshrq_n_s32(p, Bits); }, x);
}
inline Ints load_signed_bytes(const std::int8_t* at) {
  const int8x16_t bytes = vld1q_s8(at);
  const int16x8_t low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_high_s8(bytes);
  return {vmovl_s16(vget_low_s16(low)), vmovl_high_s16(low), vmovl_s16(vget_low_s16(high)), vmovl_high_s16(high)};
}
inline Ints load_unsigned_bytes(const std::uint8_t* at) {
  const uint8x16_t bytes = vld1q_u8(at);
  const uint16x8_t low = vmovl_u8(vget_low_u8(bytes)), high = vmovl_high_u8(bytes);
  const auto ints = [](uint32x4_t x) { return vreinterpretq_s32_u32(x); };
  return {ints(vmovl_u16(vget_low_u16(low))), ints(vmovl_high_u16(low)), ints(vmovl_u16(vget_low_u16(high))), ints(vmovl_high_u16(high))};
}
inline std::int32_t sum(Ints x) { return vaddvq_s32(vaddq_s32(vaddq_s32(x.a, x.b), vaddq_s32(x.c, x.d))); }
// What is not a number becomes the least: its scale says that it is not.
inline Ints round_to_ints(Floats x) {
  return inner::each<Ints>(
      [](float32x4_t p) { return vbslq_s32(vcleq_f32(vabsq_f32(p), vdupq_n_f32(16256.5F)), vcvtnq_s32_f32(p), vdupq_n_s32(-16256)); }, x);
}
inline void store_bytes(std::int8_t* to, Ints x) {
  const auto words = [](int32x4_t p, int32x4_t q) { return vcombine_s16(vqmovn_s32(p), vqmovn_s32(q)); };
  vst1q_s8(to, vcombine_s8(vqmovn_s16(words(x.a, x.b)), vqmovn_s16(words(x.c, x.d))));
}

inline Bytes load_bytes(const std::uint8_t* at) { return {vld1q_u8(at), vld1q_u8(at + 16), vld1q_u8(at + 32), vld1q_u8(at + 48)}; }
inline Bytes low_nibbles(Bytes x) {
  return inner::each<Bytes>([](uint8x16_t p) { return vandq_u8(p, vdupq_n_u8(15)); }, x);
}
inline Bytes high_nibbles(Bytes x) {
  return inner::each<Bytes>([](uint8x16_t p) { return vshrq_n_u8(p, 4); }, x);
}
inline Bytes high_nibbles_x16(Bytes x) { return x; }  // never used: 240 is no signed byte
template <int Shift, int Mask>
Bytes put_bits(Bytes low, Bytes high) {
  return inner::each<Bytes>(
      [](uint8x16_t into, uint8x16_t bits) {
        if constexpr (Shift > 0) bits = vshlq_n_u8(bits, Shift);
        if constexpr (Shift < 0) bits = vshrq_n_u8(bits, -Shift);
        return vorrq_u8(into, vandq_u8(bits, vdupq_n_u8(Mask)));
      },
      low, high);
}

inline constexpr bool takes_x16 = false;

struct Quad {
  int8x16_t v;
};
inline Quad quad(const std::int8_t* at) {
  std::int32_t four;
  std::memcpy(&four, at, 4);
  return {vreinterpretq_s8_s32(vdupq_n_s32(four))};
}

namespace inner {
// Four products of signed bytes into each lane. -128 * -128 twice is 32,768, one more than a word holds: the numbers are never -128.
inline int32x4_t dot_signed(int32x4_t acc, int8x16_t weights, int8x16_t numbers) {
#if defined(__ARM_FEATURE_DOTPROD)
  return vdotq_s32(acc, weights, numbers);
#else
  const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(weights), vget_low_s8(numbers)));
  const int32x4_t high = vpaddlq_s16(vmull_high_s8(weights, numbers));
  return vaddq_s32(acc, vpaddq_s32(low, high));
#endif
}
}  // namespace inner

// Weights of whole bytes are taken as signed; what the unsigned byte has more, 128 times the sum of the numbers, is added apart.
template <int Bits>
Ints dot(Ints acc, Bytes weights, Quad numbers) {
  if constexpr (Bits <= 7) {
    return inner::each<Ints>([&](int32x4_t sums, uint8x16_t bytes) { return inner::dot_signed(sums, vreinterpretq_s8_u8(bytes), numbers.v); }, acc, weights);
  } else {
    const int32x4_t rest = vshlq_n_s32(inner::dot_signed(vdupq_n_s32(0), vdupq_n_s8(1), numbers.v), 7);
    return inner::each<Ints>(
        [&](int32x4_t sums, uint8x16_t bytes) {
          return inner::dot_signed(vaddq_s32(sums, rest), vreinterpretq_s8_u8(veorq_u8(bytes, vdupq_n_u8(128))), numbers.v);
        },
        acc, weights);
  }
}

inline void prefetch(const std::byte* at) { __builtin_prefetch(at, 0, 2); }

}  // namespace diecast::cpu::inline DIECAST_ISA

#endif

#include <diecast/isa_end.hpp>
