// Sixteen lanes on AVX-512 with VNNI: one register each.
#pragma once

#include <cstddef>
#include <cstdint>

#include <diecast/cpu/intrinsics.hpp>

#include <diecast/isa_begin.hpp>

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__) && defined(__AVX512VNNI__)

namespace diecast::cpu::inline DIECAST_ISA {

struct Floats {
  __m512 v;
};
struct Ints {
  __m512i v;
};
struct Bytes {  // 64 of them: four for each lane
  __m512i v;
};

inline Floats broadcast(float x) { return {_mm512_set1_ps(x)}; }
inline Floats load(const float* at) { return {_mm512_loadu_ps(at)}; }
inline void store(float* at, Floats a) { _mm512_storeu_ps(at, a.v); }
inline __mmask16 first_lanes(int count) { return static_cast<__mmask16>((1U << count) - 1U); }
inline Floats load_first(const float* at, int count) { return {_mm512_maskz_loadu_ps(first_lanes(count), at)}; }
inline void store_first(float* at, Floats a, int count) { _mm512_mask_storeu_ps(at, first_lanes(count), a.v); }
inline Floats load(const std::uint16_t* halfs) { return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(halfs)))}; }
inline Floats load_bfloats(const std::uint16_t* at) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at))), 16))};
}
inline void store_halfs(std::uint16_t* at, Floats a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

inline Floats operator+(Floats a, Floats b) { return {_mm512_add_ps(a.v, b.v)}; }
inline Floats operator-(Floats a, Floats b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline Floats operator*(Floats a, Floats b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline Floats operator/(Floats a, Floats b) { return {_mm512_div_ps(a.v, b.v)}; }
inline Floats fma(Floats a, Floats b, Floats c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline Floats larger(Floats a, Floats b) { return {_mm512_max_ps(a.v, b.v)}; }  // b where either is NaN
inline Floats smaller(Floats a, Floats b) { return {_mm512_min_ps(a.v, b.v)}; }
inline Floats abs(Floats a) { return {_mm512_abs_ps(a.v)}; }

// a in the lanes [from, to), b in the others.
inline Floats within(int from, int to, Floats a, Floats b) {
  return {_mm512_mask_blend_ps(static_cast<__mmask16>(first_lanes(to) & ~first_lanes(from)), b.v, a.v)};
}
// a where x < y, else b.
inline Floats where_less(Floats x, Floats y, Floats a, Floats b) { return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(x.v, y.v, _CMP_LT_OQ), b.v, a.v)}; }

// Halves are added, then quarters, ...: one order for all instruction sets.
inline float sum(Floats a) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline float greatest(Floats a) { return _mm512_reduce_max_ps(a.v); }

inline Ints zero_ints() { return {_mm512_setzero_si512()}; }
inline Ints load_ints(const std::int32_t* at) { return {_mm512_loadu_si512(at)}; }
inline void store_bytes(std::uint8_t* to, Bytes a) { _mm512_storeu_si512(to, a.v); }
inline Ints broadcast_int(std::int32_t x) { return {_mm512_set1_epi32(x)}; }
inline Floats to_floats(Ints a) { return {_mm512_cvtepi32_ps(a.v)}; }
inline Ints as_ints(Floats a) { return {_mm512_castps_si512(a.v)}; }
inline Floats as_floats(Ints a) { return {_mm512_castsi512_ps(a.v)}; }
inline Ints operator+(Ints a, Ints b) { return {_mm512_add_epi32(a.v, b.v)}; }
inline Ints operator-(Ints a, Ints b) { return {_mm512_sub_epi32(a.v, b.v)}; }
template <int Bits>
Ints shift_left(Ints a) { return {_mm512_slli_epi32(a.v, Bits)}; }
template <int Bits>
Ints shift_right(Ints a) { return {_mm512_srai_epi32(a.v, Bits)}; }
inline Ints load_signed_bytes(const std::int8_t* at) { return {_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)))}; }
inline Ints load_unsigned_bytes(const std::uint8_t* at) { return {_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)))}; }
inline std::int32_t sum(Ints a) { return _mm512_reduce_add_epi32(a.v); }

// To the nearest, ties to even; what is not a number becomes the least.
inline Ints round_to_ints(Floats a) { return {_mm512_max_epi32(_mm512_cvtps_epi32(a.v), _mm512_set1_epi32(-16256))}; }
inline void store_bytes(std::int8_t* to, Ints a) { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtsepi32_epi8(a.v)); }

inline Bytes load_bytes(const std::uint8_t* at) { return {_mm512_loadu_si512(at)}; }
inline Bytes low_nibbles(Bytes a) { return {_mm512_and_si512(a.v, _mm512_set1_epi8(0x0f))}; }
// Sixteen times the high nibbles: the product is divided once, after all sums.
inline Bytes high_nibbles_x16(Bytes a) { return {_mm512_and_si512(a.v, _mm512_set1_epi8(static_cast<char>(0xf0)))}; }
inline Bytes high_nibbles(Bytes a) { return {_mm512_and_si512(_mm512_srli_epi16(a.v, 4), _mm512_set1_epi8(0x0f))}; }
// The bits of `high` that `Mask` names, after a shift (left where positive) of each byte, put into `low`.
template <int Shift, int Mask>
Bytes put_bits(Bytes low, Bytes high) {
  const __m512i shifted = Shift >= 0 ? _mm512_slli_epi16(high.v, static_cast<unsigned>(Shift >= 0 ? Shift : 0)) : _mm512_srli_epi16(high.v, static_cast<unsigned>(Shift < 0 ? -Shift : 0));
  return {_mm512_ternarylogic_epi32(low.v, shifted, _mm512_set1_epi8(static_cast<char>(Mask)), 0xf8)};  // low | shifted & mask
}

inline constexpr bool takes_x16 = true;  // whether bytes up to 240 may be multiplied without a loss

// Four numbers of one token, the same for all lanes.
struct Quad {
  __m512i v;
};
inline Quad quad(const std::int8_t* at) {
  std::int32_t four;
  __builtin_memcpy(&four, at, 4);
  return {_mm512_set1_epi32(four)};
}
// acc + the product of each lane's four unsigned bytes with the four numbers. Bits: how many the bytes have at most.
template <int Bits>
Ints dot(Ints acc, Bytes weights, Quad numbers) { return {_mm512_dpbusd_epi32(acc.v, weights.v, numbers.v)}; }

inline void prefetch(const std::byte* at) { _mm_prefetch(reinterpret_cast<const char*>(at), _MM_HINT_T1); }

}  // namespace diecast::cpu::inline DIECAST_ISA

#endif

#include <diecast/isa_end.hpp>
