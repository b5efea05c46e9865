// Sixteen lanes on AVX2 with FMA and F16C: two registers each.
#pragma once

#include <cstddef>
#include <cstdint>

#include <diecast/cpu/intrinsics.hpp>

#include <diecast/isa_begin.hpp>

#if !(defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__) && defined(__AVX512VNNI__)) && defined(__AVX2__) && \
    defined(__FMA__) && defined(__F16C__)

namespace diecast::cpu::inline DIECAST_ISA {

struct Floats {
  __m256 a, b;
};
struct Ints {
  __m256i a, b;
};
struct Bytes {
  __m256i a, b;
};

inline Floats broadcast(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
inline Floats load(const float* at) { return {_mm256_loadu_ps(at), _mm256_loadu_ps(at + 8)}; }
inline void store(float* at, Floats x) {
  _mm256_storeu_ps(at, x.a);
  _mm256_storeu_ps(at + 8, x.b);
}
// All bits set in the first `count` of eight lanes.
inline __m256i first_lanes(int count) { return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)); }
inline Floats load_first(const float* at, int count) {
  return {_mm256_maskload_ps(at, first_lanes(count)), count > 8 ? _mm256_maskload_ps(at + 8, first_lanes(count - 8)) : _mm256_setzero_ps()};
}
inline void store_first(float* at, Floats x, int count) {
  _mm256_maskstore_ps(at, first_lanes(count), x.a);
  if (count > 8) _mm256_maskstore_ps(at + 8, first_lanes(count - 8), x.b);
}
inline Floats load(const std::uint16_t* halfs) {
  const auto* at = reinterpret_cast<const __m128i*>(halfs);
  return {_mm256_cvtph_ps(_mm_loadu_si128(at)), _mm256_cvtph_ps(_mm_loadu_si128(at + 1))};
}
inline Floats load_bfloats(const std::uint16_t* bfloats) {
  const auto* at = reinterpret_cast<const __m128i*>(bfloats);
  const auto widen = [](__m128i x) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16)); };
  return {widen(_mm_loadu_si128(at)), widen(_mm_loadu_si128(at + 1))};
}
inline void store_halfs(std::uint16_t* to, Floats x) {
  auto* at = reinterpret_cast<__m128i*>(to);
  _mm_storeu_si128(at, _mm256_cvtps_ph(x.a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  _mm_storeu_si128(at + 1, _mm256_cvtps_ph(x.b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

inline Floats operator+(Floats x, Floats y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
inline Floats operator-(Floats x, Floats y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
inline Floats operator*(Floats x, Floats y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
inline Floats operator/(Floats x, Floats y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
inline Floats fma(Floats x, Floats y, Floats z) { return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)}; }
inline Floats larger(Floats x, Floats y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }  // y where either is NaN
inline Floats smaller(Floats x, Floats y) { return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)}; }
inline Floats abs(Floats x) {
  const __m256 sign = _mm256_set1_ps(-0.0F);
  return {_mm256_andnot_ps(sign, x.a), _mm256_andnot_ps(sign, x.b)};
}
inline Floats within(int from, int to, Floats x, Floats y) {
  const auto half = [&](int first, __m256 in, __m256 out) {
    const __m256i mask = _mm256_andnot_si256(first_lanes(from - first), first_lanes(to - first));
    return _mm256_blendv_ps(out, in, _mm256_castsi256_ps(mask));
  };
  return {half(0, x.a, y.a), half(8, x.b, y.b)};
}
inline Floats where_less(Floats x, Floats y, Floats p, Floats q) {
  return {_mm256_blendv_ps(q.a, p.a, _mm256_cmp_ps(x.a, y.a, _CMP_LT_OQ)), _mm256_blendv_ps(q.b, p.b, _mm256_cmp_ps(x.b, y.b, _CMP_LT_OQ))};
}

inline float sum(Floats x) {
  const __m256 eight = _mm256_add_ps(x.a, x.b);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline float greatest(Floats x) {
  const __m256 eight = _mm256_max_ps(x.a, x.b);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

inline Ints zero_ints() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
inline Ints broadcast_int(std::int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
inline Floats to_floats(Ints x) { return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)}; }
inline Ints as_ints(Floats x) { return {_mm256_castps_si256(x.a), _mm256_castps_si256(x.b)}; }
inline Floats as_floats(Ints x) { return {_mm256_castsi256_ps(x.a), _mm256_castsi256_ps(x.b)}; }
inline Ints operator+(Ints x, Ints y) { return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)}; }
inline Ints operator-(Ints x, Ints y) { return {_mm256_sub_epi32(x.a, y.a), _mm256_sub_epi32(x.b, y.b)}; }
template <int Bits>
Ints shift_left(Ints x) { return {_mm256_slli_epi32(x.a, Bits), _mm256_slli_epi32(x.b, Bits)}; }
template <int Bits>
Ints shift_right(Ints x) { return {_mm256_srai_epi32(x.a, Bits), _mm256_srai_epi32(x.b, Bits)}; }
inline Ints load_signed_bytes(const std::int8_t* at) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  return {_mm256_cvtepi8_epi32(bytes), _mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8))};
}
inline Ints load_unsigned_bytes(const std::uint8_t* at) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  return {_mm256_cvtepu8_epi32(bytes), _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8))};
}
inline std::int32_t sum(Ints x) {
  const __m256i eight = _mm256_add_epi32(x.a, x.b);
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}
inline Ints round_to_ints(Floats x) {
  const __m256i least = _mm256_set1_epi32(-16256);
  return {_mm256_max_epi32(_mm256_cvtps_epi32(x.a), least), _mm256_max_epi32(_mm256_cvtps_epi32(x.b), least)};
}
inline void store_bytes(std::int8_t* to, Ints x) {
  const auto words = [](__m256i y) { return _mm_packs_epi32(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1)); };
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_packs_epi16(words(x.a), words(x.b)));
}

inline Bytes load_bytes(const std::uint8_t* at) {
  const auto* vectors = reinterpret_cast<const __m256i*>(at);
  return {_mm256_loadu_si256(vectors), _mm256_loadu_si256(vectors + 1)};
}
inline Bytes low_nibbles(Bytes x) {
  const __m256i mask = _mm256_set1_epi8(0x0f);
  return {_mm256_and_si256(x.a, mask), _mm256_and_si256(x.b, mask)};
}
inline Bytes high_nibbles(Bytes x) { return low_nibbles({_mm256_srli_epi16(x.a, 4), _mm256_srli_epi16(x.b, 4)}); }
inline Bytes high_nibbles_x16(Bytes x) { return x; }  // never used: 240 * 127 * 2 does not fit a word
template <int Shift, int Mask>
Bytes put_bits(Bytes low, Bytes high) {
  const auto half = [](__m256i into, __m256i bits) {
    const __m256i shifted = Shift >= 0 ? _mm256_slli_epi16(bits, Shift >= 0 ? Shift : 0) : _mm256_srli_epi16(bits, Shift < 0 ? -Shift : 0);
    return _mm256_or_si256(into, _mm256_and_si256(shifted, _mm256_set1_epi8(static_cast<char>(Mask))));
  };
  return {half(low.a, high.a), half(low.b, high.b)};
}

inline constexpr bool takes_x16 = false;

struct Quad {
  __m256i v;
};
inline Quad quad(const std::int8_t* at) {
  std::int32_t four;
  __builtin_memcpy(&four, at, 4);
  return {_mm256_set1_epi32(four)};
}
// vpmaddubsw adds pairs of products in words and saturates. Weights up to 6 bits cannot reach that (63 * 127 * 2). Whole bytes could
// (255 * 127 * 2), so they are taken as signed, their sign goes to the other factor, and 128 * 127 * 2 = 32,512 fits;
// what the unsigned byte has more, 128 times the sum of the numbers, is added apart.
template <int Bits>
Ints dot(Ints acc, Bytes weights, Quad numbers) {
  const __m256i ones = _mm256_set1_epi16(1);
  if constexpr (Bits <= 6) {
    return {_mm256_add_epi32(acc.a, _mm256_madd_epi16(_mm256_maddubs_epi16(weights.a, numbers.v), ones)),
            _mm256_add_epi32(acc.b, _mm256_madd_epi16(_mm256_maddubs_epi16(weights.b, numbers.v), ones))};
  } else {
    const __m256i middle = _mm256_set1_epi8(static_cast<char>(0x80));
    const __m256i rest = _mm256_slli_epi32(_mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), numbers.v), ones), 7);
    const auto half = [&](__m256i sums, __m256i bytes) {
      const __m256i is_signed = _mm256_xor_si256(bytes, middle);
      const __m256i products = _mm256_maddubs_epi16(_mm256_abs_epi8(is_signed), _mm256_sign_epi8(numbers.v, is_signed));
      return _mm256_add_epi32(_mm256_add_epi32(sums, rest), _mm256_madd_epi16(products, ones));
    };
    return {half(acc.a, weights.a), half(acc.b, weights.b)};
  }
}

inline void prefetch(const std::byte* at) { _mm_prefetch(reinterpret_cast<const char*>(at), _MM_HINT_T1); }

}  // namespace diecast::cpu::inline DIECAST_ISA

#endif

#include <diecast/isa_end.hpp>
