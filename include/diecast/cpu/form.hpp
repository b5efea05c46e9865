// How a packed matrix lies in memory. Sixteen rows stand side by side, one in each lane: whatever four neighbouring weights of a row are called
// a quad, and a vector of 64 bytes holds one quad of each row. Blocks of 32 columns follow each other, eight quads each; behind all blocks
// of the sixteen rows come their scales. So a product reads memory once, from front to back.
//
//   integers of a block: [4 vectors] quad j in the low nibbles of vector j, quad j + 4 in the high ones; of 8 bits: [8 vectors] a quad each
//   and above 4 bits:    fifth bits [1 vector] of quad j in bit j; fifth and sixth [2 vectors] of quad j in bits 2 (j % 4) of vector j / 4
//   scales:              a half for each row and block, and a half for the minimum; or for every 256 columns the halves, and a byte for each group
//   floats:              [cols][16 rows]
#pragma once

#include <cstddef>

#include <diecast/files/affine_block.hpp>
#include <diecast/files/format.hpp>

namespace diecast::cpu {

inline constexpr int block_columns = 32;

constexpr AffineBlock affine_block(Format format) {
  switch (format) {
    case Format::q4_0: return q4_0_block;
    case Format::q4_1: return q4_1_block;
    case Format::q5_0: return q5_0_block;
    case Format::q5_1: return q5_1_block;
    case Format::q8_0: return q8_0_block;
    case Format::q4_k: return q4_k_block;
    case Format::q5_k: return q5_k_block;
    case Format::q6_k: return q6_k_block;
    default: return {};
  }
}

struct Form {
  bool integers;     // else floats
  int bits;          // of a weight
  int zero;          // the unsigned integer that means 0; formats without a minimum only
  int group;         // columns that share a scale: 32 or 16
  bool minimum;
  bool two_levels;   // a half for 256 columns, a byte for each group

  constexpr int block_bytes() const { return integers ? 64 * bits : 2 * bits * block_columns; }  // 16 rows, 32 columns, without scales
  constexpr int halves() const { return minimum ? 2 : 1; }
  constexpr std::size_t scale_bytes(int cols) const {  // 16 rows
    if (!integers) return 0;
    const auto count = static_cast<std::size_t>(cols);
    const auto streams = static_cast<std::size_t>(halves());
    return two_levels ? count / 256 * streams * (32 + 16 * static_cast<std::size_t>(256 / group)) : count / block_columns * streams * 32;
  }
  constexpr std::size_t weight_bytes(int cols) const { return static_cast<std::size_t>(cols) * 2 * static_cast<std::size_t>(bits); }
  constexpr std::size_t panel_bytes(int cols) const { return (weight_bytes(cols) + scale_bytes(cols) + 63) / 64 * 64; }  // 16 rows with all of theirs
};

constexpr Form form_of(Format format) {
  if (format == Format::f32) return {false, 32, 0, 1, false, false};
  if (format == Format::f16 || format == Format::bf16) return {false, 16, 0, 1, false, false};
  const AffineBlock block = affine_block(format);
  const bool two_levels = block.block == 256;
  const int bits = block.low.bits + block.high.bits;
  return {true, bits, block.is_signed ? 128 : block.zero, block.scales == ScaleForm::signed_bytes ? 16 : 32,
          block.scales == ScaleForm::half_pair || block.scales == ScaleForm::six_bit_pairs, two_levels};
}

}  // namespace diecast::cpu
