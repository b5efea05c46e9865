// What happens when the lanes of a warp have met: each brings a pointer to what it offers, and whoever comes last computes everybody's
// result. Products of matrices go through the maps of kernels/fragments.hpp; sums of floats are exact products added in double.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include <diecast/kernels/elements.hpp>
#include <diecast/kernels/fragments.hpp>

namespace diecast::simt {

template <class T>
struct Shuffle {
  T value;
  int from;
};

template <class T>
void exchange(void* const* of_lane, std::uint32_t lanes) {
  T before[32];
  for (int lane = 0; lane < 32; ++lane)
    if ((lanes >> lane & 1u) != 0) before[lane] = static_cast<Shuffle<T>*>(of_lane[lane])->value;
  for (int lane = 0; lane < 32; ++lane)
    if ((lanes >> lane & 1u) != 0) {
      auto& own = *static_cast<Shuffle<T>*>(of_lane[lane]);
      own.value = before[own.from];  // the executor has seen that this lane takes part
    }
}

inline void count_votes(void* const* of_lane, std::uint32_t lanes) {
  std::uint32_t votes = 0;
  for (int lane = 0; lane < 32; ++lane)
    if ((lanes >> lane & 1u) != 0 && *static_cast<std::uint32_t*>(of_lane[lane]) != 0) votes |= 1u << lane;
  for (int lane = 0; lane < 32; ++lane)
    if ((lanes >> lane & 1u) != 0) *static_cast<std::uint32_t*>(of_lane[lane]) = votes;
}

struct Plus {
  float operator()(float a, float b) const { return a + b; }
  int operator()(int a, int b) const { return static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)); }
};
struct Greater {
  float operator()(float a, float b) const { return std::fmax(a, b); }
};

template <class T, class Operation>
void butterfly(void* const* of_lane, std::uint32_t) {
  T value[32];
  for (int lane = 0; lane < 32; ++lane) value[lane] = *static_cast<T*>(of_lane[lane]);
  for (int with = 16; with > 0; with /= 2) {
    T next[32];
    for (int lane = 0; lane < 32; ++lane) next[lane] = Operation{}(value[lane], value[lane ^ with]);
    for (int lane = 0; lane < 32; ++lane) value[lane] = next[lane];
  }
  for (int lane = 0; lane < 32; ++lane) *static_cast<T*>(of_lane[lane]) = value[lane];
}

struct MatrixRows {
  std::uint16_t own[8];
  kernels::FourMatrices out;
};

template <bool transposed>
void distribute(void* const* of_lane, std::uint32_t) {
  const auto element = [&](int matrix, int row, int column) {
    return static_cast<const MatrixRows*>(of_lane[8 * matrix + row])->own[column];
  };
  for (int lane = 0; lane < 32; ++lane)
    for (int matrix = 0; matrix < 4; ++matrix) {
      const int row = lane / 4, column = 2 * (lane % 4);
      const std::uint32_t low = transposed ? element(matrix, column, row) : element(matrix, row, column);
      const std::uint32_t high = transposed ? element(matrix, column + 1, row) : element(matrix, row, column + 1);
      static_cast<MatrixRows*>(of_lane[lane])->out.at[matrix] = low | high << 16;
    }
}

template <class Element, class Sum>
struct MatrixProduct {
  kernels::FragmentA<Element> a;
  kernels::FragmentB<Element> b;
  kernels::FragmentC<Sum> c;
};

template <class Element, class Sum>
void matrix_product(void* const* of_lane, std::uint32_t) {
  constexpr bool whole = std::is_same_v<Element, std::int8_t>;
  static_assert(std::is_same_v<Sum, std::conditional_t<whole, std::int32_t, float>>, "bytes are summed as int32, 16-bit floats as float");
  using Wide = std::conditional_t<whole, std::int64_t, double>;
  constexpr int bits = whole ? 8 : 16, depth = whole ? 32 : 16;
  const auto value = [](std::uint32_t word, int element) -> Wide {
    const std::uint32_t raw = word >> (bits * element);
    if constexpr (whole)
      return static_cast<std::int8_t>(raw);
    else
      return static_cast<double>(kernels::to_float(Element{static_cast<std::uint16_t>(raw)}));
  };
  Wide a[16][depth], b[8][depth];
  for (int lane = 0; lane < 32; ++lane) {
    const auto& own = *static_cast<const MatrixProduct<Element, Sum>*>(of_lane[lane]);
    for (int element = 0; element < 32 / bits; ++element) {
      for (int part = 0; part < 4; ++part) {
        const kernels::Cell cell = kernels::place_in_a<bits>(lane, part, element);
        a[cell.row][cell.column] = value(own.a.at[part], element);
      }
      for (int part = 0; part < 2; ++part) {
        const kernels::Cell cell = kernels::place_in_b<bits>(lane, part, element);
        b[cell.column][cell.row] = value(own.b.at[part], element);
      }
    }
  }
  for (int lane = 0; lane < 32; ++lane)
    for (int part = 0; part < 4; ++part) {
      const kernels::Cell cell = kernels::place_in_c(lane, part);
      Sum& c = static_cast<MatrixProduct<Element, Sum>*>(of_lane[lane])->c.at[part];
      Wide sum = static_cast<Wide>(c);
      for (int k = 0; k < depth; ++k) sum += a[cell.row][k] * b[cell.column][k];
      c = static_cast<Sum>(sum);
    }
}

}  // namespace diecast::simt
