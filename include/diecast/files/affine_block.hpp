// Every block format of ggml is one idea: a weight is scale * (q - zero) + minimum, with a few bits for q and a scale that a group shares.
// The formats differ in numbers only: where the bits lie, how many weights share a scale, and how the scales are stored.
// Source: ggml's block structures (ggml-common.h). scale * q fits into a float without rounding for every format
// (11 + 6 + 5 bits at most, 11 + 7 + 6 for Q6_K), so there is one rounding in all, whether or not the compiler fuses product and sum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <diecast/files/half.hpp>

namespace diecast {

// Some bits of every q of a block. Values `stride` apart share a byte, the first of them in its lowest bits:
// nibbles, Q5's fifth bits and Q6_K's upper pairs are all this.
struct BitPlane {
  int offset;  // bytes from the begin of the block
  int bits;    // of each value, 0: no such plane
  int stride;
};

enum class ScaleForm {
  one_half,        // one half scale for the block
  half_pair,       // a half scale and a half minimum
  six_bit_pairs,   // half d and dmin; eight groups with six-bit factors for each (Q4_K, Q5_K)
  signed_bytes,    // half d; sixteen groups with a signed byte as factor (Q6_K)
};

struct AffineBlock {
  int block;    // weights
  int bytes;
  int zero;     // the q that means 0 in formats without a minimum
  bool is_signed;  // q is a two's complement byte
  BitPlane low;
  BitPlane high;   // its bits stand above those of low
  ScaleForm scales;
  int scale_offset;  // of the half scale (and the half minimum after it)
  int factor_offset;  // of the groups' factors
};

inline constexpr AffineBlock q4_0_block{32, 18, 8, false, {2, 4, 16}, {0, 0, 1}, ScaleForm::one_half, 0, 0};
inline constexpr AffineBlock q4_1_block{32, 20, 0, false, {4, 4, 16}, {0, 0, 1}, ScaleForm::half_pair, 0, 0};
inline constexpr AffineBlock q5_0_block{32, 22, 16, false, {6, 4, 16}, {2, 1, 1}, ScaleForm::one_half, 0, 0};
inline constexpr AffineBlock q5_1_block{32, 24, 0, false, {8, 4, 16}, {4, 1, 1}, ScaleForm::half_pair, 0, 0};
inline constexpr AffineBlock q8_0_block{32, 34, 0, true, {2, 8, 1}, {0, 0, 1}, ScaleForm::one_half, 0, 0};
inline constexpr AffineBlock q4_k_block{256, 144, 0, false, {16, 4, 32}, {0, 0, 1}, ScaleForm::six_bit_pairs, 0, 4};
inline constexpr AffineBlock q5_k_block{256, 176, 0, false, {48, 4, 32}, {16, 1, 32}, ScaleForm::six_bit_pairs, 0, 4};
inline constexpr AffineBlock q6_k_block{256, 210, 32, false, {0, 4, 64}, {128, 2, 32}, ScaleForm::signed_bytes, 208, 192};

constexpr int group_count(ScaleForm form) {
  return form == ScaleForm::six_bit_pairs ? 8 : form == ScaleForm::signed_bytes ? 16 : 1;
}

// Adds one plane to the q of a block, `up` bits above what is there. The loops follow the bytes, so that they become vector code.
template <BitPlane Plane>
constexpr void unpack_plane(const std::byte* block, int values, int up, std::uint8_t* q) {
  constexpr int shares = 8 / Plane.bits;  // values in a byte
  constexpr unsigned mask = (1U << Plane.bits) - 1U;
  for (int chunk = 0; chunk < values / (Plane.stride * shares); ++chunk) {
    const std::byte* bytes = block + Plane.offset + chunk * Plane.stride;
    std::uint8_t* to = q + chunk * Plane.stride * shares;
    for (int share = 0; share < shares; ++share) {
      for (int i = 0; i < Plane.stride; ++i) {
        const unsigned bits = static_cast<unsigned>(bytes[i]) >> (Plane.bits * share) & mask;
        to[share * Plane.stride + i] = static_cast<std::uint8_t>(to[share * Plane.stride + i] | bits << up);
      }
    }
  }
}

// The integers of a block as the formula takes them: sign restored, zero taken off. All fit into a signed byte.
template <AffineBlock B>
constexpr std::array<std::int8_t, B.block> unpack_block(const std::byte* block) {
  std::array<std::uint8_t, B.block> q{};
  unpack_plane<B.low>(block, B.block, 0, q.data());
  if constexpr (B.high.bits > 0) unpack_plane<B.high>(block, B.block, B.low.bits, q.data());
  std::array<std::int8_t, B.block> result{};
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = static_cast<std::int8_t>(B.is_signed ? q[i] : q[i] - B.zero);
  return result;
}

inline float half_at(const std::byte* at) {
  std::uint16_t bits;
  std::memcpy(&bits, at, sizeof(bits));
  return half_to_float(bits);
}

// The factors of a super-block's groups as bytes: [0, groups) of the scale, [groups, 2 groups) of the minimum.
// Six-bit pairs: groups 0-3 have the low six bits of bytes 0-3 (factor) and 4-7 (minimum); groups 4-7 a nibble of bytes 8-11, and above it the two
// upper bits that the first eight bytes have left.
template <AffineBlock B>
std::array<std::uint8_t, 2 * group_count(B.scales)> group_factors(const std::byte* block) {
  constexpr int groups = group_count(B.scales);
  std::array<std::uint8_t, 2 * groups> factors{};
  const auto byte = [&](int i) { return static_cast<unsigned>(block[B.factor_offset + i]); };
  for (int g = 0; g < groups; ++g) {
    const auto at = static_cast<std::size_t>(g);
    if constexpr (B.scales == ScaleForm::signed_bytes) {
      factors[at] = static_cast<std::uint8_t>(byte(g));
    } else {
      factors[at] = static_cast<std::uint8_t>(g < 4 ? byte(g) & 63U : (byte(g + 4) & 15U) | (byte(g - 4) >> 6 << 4));
      factors[at + groups] = static_cast<std::uint8_t>(g < 4 ? byte(g + 4) & 63U : byte(g + 4) >> 4 | (byte(g) >> 6 << 4));
    }
  }
  return factors;
}

// What the groups of one block share. The minimum is added; formats that store what is to be subtracted are negated here, which is exact.
template <AffineBlock B>
struct BlockScales {
  static constexpr int groups = group_count(B.scales);
  std::array<float, groups> scale;
  std::array<float, groups> minimum;  // read only by formats that have one

  static constexpr bool has_minimum = B.scales == ScaleForm::half_pair || B.scales == ScaleForm::six_bit_pairs;

  explicit BlockScales(const std::byte* block) {
    const float d = half_at(block + B.scale_offset);
    if constexpr (B.scales == ScaleForm::one_half) {
      scale[0] = d;
    } else if constexpr (B.scales == ScaleForm::half_pair) {
      scale[0] = d;
      minimum[0] = half_at(block + B.scale_offset + 2);
    } else {
      const auto factors = group_factors<B>(block);
      const float dmin = has_minimum ? half_at(block + B.scale_offset + 2) : 0;
      for (std::size_t g = 0; g < static_cast<std::size_t>(groups); ++g) {
        if constexpr (has_minimum) {
          scale[g] = d * static_cast<float>(factors[g]);
          minimum[g] = -(dmin * static_cast<float>(factors[g + groups]));
        } else {
          scale[g] = d * static_cast<float>(static_cast<std::int8_t>(factors[g]));
        }
      }
    }
  }
};

// One block to floats.
template <AffineBlock B>
void decode_block(const std::byte* block, float* out) {
  const BlockScales<B> shared(block);
  const auto q = unpack_block<B>(block);
  constexpr std::size_t groups = BlockScales<B>::groups;
  constexpr std::size_t group = B.block / groups;
  for (std::size_t g = 0; g < groups; ++g) {
    const float scale = shared.scale[g];
    for (std::size_t i = g * group; i < (g + 1) * group; ++i) {
      const float product = scale * static_cast<float>(q[i]);
      if constexpr (BlockScales<B>::has_minimum) {
        out[i] = product + shared.minimum[g];
      } else {
        out[i] = product;
      }
    }
  }
}

}  // namespace diecast
