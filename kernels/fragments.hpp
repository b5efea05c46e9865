// What each lane of a warp holds of the matrices in a tensor-core product D = A B + C. Sixteen rows of A, eight columns of B.
// Source: PTX ISA, mma.m16n8k16 (f16, bf16) and mma.m16n8k32 (s8). With group = lane / 4 and in_group = lane % 4:
//
//   A, 16-bit elements, register r of 4, half h   row group + 8 * (r % 2)    column 2 * in_group + h + 8 * (r / 2)
//   B, 16-bit elements, register r of 2, half h   row 2 * in_group + h + 8 * r    column group
//   A, 8-bit elements, register r of 4, byte h    row group + 8 * (r % 2)    column 4 * in_group + h + 16 * (r / 2)
//   B, 8-bit elements, register r of 2, byte h    row 4 * in_group + h + 16 * r   column group
//   C and D, value r of 4                         row group + 8 * (r / 2)    column 2 * in_group + r % 2
//
// The lowest bits of a register are the first element. Lower columns of A lie in lower bits, so two neighbours of a row are one register.
#pragma once

#include <cstdint>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

template <class Element>  // Half, Bfloat16 or std::int8_t
struct FragmentA {
  std::uint32_t at[4];  // [16, 16] of 16-bit, [16, 32] of 8-bit elements
};
template <class Element>
struct FragmentB {
  std::uint32_t at[2];  // [16, 8] or [32, 8]
};
template <class Sum>  // float, or std::int32_t for 8-bit elements
struct FragmentC {
  Sum at[4];  // [16, 8]
};

struct Cell {
  int row;
  int column;
};

// Where an element of a register lies in its matrix; `bits` is the element's width, 16 or 8.
template <int bits>
DIECAST_DEVICE constexpr Cell place_in_a(int lane, int part, int element) {
  constexpr int in_register = 32 / bits;
  return {lane / 4 + 8 * (part % 2), in_register * (lane % 4) + element + 4 * in_register * (part / 2)};
}
template <int bits>
DIECAST_DEVICE constexpr Cell place_in_b(int lane, int part, int element) {
  constexpr int in_register = 32 / bits;
  return {in_register * (lane % 4) + element + 4 * in_register * part, lane / 4};
}
DIECAST_DEVICE constexpr Cell place_in_c(int lane, int part) { return {lane / 4 + 8 * (part / 2), 2 * (lane % 4) + part % 2}; }

// ldmatrix: four 8 x 8 matrices of 16-bit elements; lane i gives the address of row i % 8 of matrix i / 8.
struct FourMatrices {
  std::uint32_t at[4];  // of matrix m: row lane / 4, columns 2 * (lane % 4) and the next; transposed: rows and columns change places
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
