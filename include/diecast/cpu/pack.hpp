// From a tensor in its file's format to a packed matrix, and one row of that back to floats: the same bits as files/decode.hpp gives.
// Nothing is rounded: integers and scales are the file's own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include <diecast/cpu/form.hpp>
#include <diecast/error.hpp>
#include <diecast/files/decode.hpp>
#include <diecast/files/weights.hpp>

namespace diecast::cpu {

struct PackedMatrix {
  Format format{};
  int rows{}, cols{};
  const std::byte* data{};  // [panels][form.panel_bytes], 64-byte aligned

  int panels() const { return (rows + 15) / 16; }
  std::size_t panel_bytes() const { return form_of(format).panel_bytes(cols); }
  std::size_t bytes() const { return panel_bytes() * static_cast<std::size_t>(panels()); }
};

namespace detail {

inline void put_half(std::byte* scales, std::size_t at, int row, const std::byte* half) {
  std::memcpy(scales + at + 2 * static_cast<std::size_t>(row), half, 2);
}

// One block of a row: its integers (0..2^bits - 1) into the sixteen rows' block.
template <Form form>
void put_block(const std::uint8_t* q, int row, std::byte* block) {
  const auto lane = 4 * static_cast<std::size_t>(row);
  for (std::size_t quad = 0; quad < 8; ++quad)
    for (std::size_t i = 0; i < 4; ++i) {
      const unsigned value = q[4 * quad + i];
      if constexpr (form.bits == 8) {
        block[64 * quad + lane + i] = static_cast<std::byte>(value);
      } else {
        block[64 * (quad % 4) + lane + i] |= static_cast<std::byte>((value & 15U) << (quad < 4 ? 0 : 4));
        if constexpr (form.bits == 5) block[256 + lane + i] |= static_cast<std::byte>((value >> 4) << quad);
        if constexpr (form.bits == 6) block[256 + 64 * (quad / 4) + lane + i] |= static_cast<std::byte>((value >> 4) << 2 * (quad % 4));
      }
    }
}

template <Format format>
void pack_integers(const std::byte* from, int row, int cols, std::byte* panel) {
  constexpr AffineBlock B = affine_block(format);
  constexpr Form form = form_of(format);
  std::byte* const scales = panel + form.weight_bytes(cols);
  for (int column = 0; column < cols; column += B.block) {
    const std::byte* source = from + column / B.block * B.bytes;
    const auto is_signed = unpack_block<B>(source);
    std::uint8_t q[B.block];
    for (std::size_t i = 0; i < B.block; ++i) q[i] = static_cast<std::uint8_t>(is_signed[i] + form.zero);
    for (int inside = 0; inside < B.block; inside += block_columns)
      put_block<form>(q + inside, row, panel + static_cast<std::size_t>((column + inside) / block_columns) * static_cast<std::size_t>(form.block_bytes()));
    if constexpr (form.two_levels) {
      constexpr std::size_t groups = group_count(B.scales);
      const auto factors = group_factors<B>(source);
      std::byte* const at = scales + static_cast<std::size_t>(column / 256) * form.scale_bytes(256);
      put_half(at, 0, row, source + B.scale_offset);
      if constexpr (form.minimum) put_half(at, 32, row, source + B.scale_offset + 2);
      for (std::size_t g = 0; g < groups * static_cast<std::size_t>(form.halves()); ++g)
        at[32 * static_cast<std::size_t>(form.halves()) + 16 * g + static_cast<std::size_t>(row)] = static_cast<std::byte>(factors[g]);
    } else {
      const std::size_t at = static_cast<std::size_t>(column / block_columns) * form.scale_bytes(block_columns);
      put_half(scales, at, row, source + B.scale_offset);
      if constexpr (form.minimum) put_half(scales, at + 32, row, source + B.scale_offset + 2);
    }
  }
}

// The integer of a row's column within a packed block.
template <Form form>
unsigned packed_integer(const std::byte* block, std::size_t lane, int column) {
  const auto quad = static_cast<std::size_t>(column / 4), at = 4 * lane + static_cast<std::size_t>(column % 4);
  if constexpr (form.bits == 8) {
    return static_cast<unsigned>(block[64 * quad + at]);
  } else {
    unsigned value = static_cast<unsigned>(block[64 * (quad % 4) + at]) >> (quad < 4 ? 0 : 4) & 15U;
    if constexpr (form.bits == 5) value |= (static_cast<unsigned>(block[256 + at]) >> quad & 1U) << 4;
    if constexpr (form.bits == 6) value |= (static_cast<unsigned>(block[256 + 64 * (quad / 4) + at]) >> 2 * (quad % 4) & 3U) << 4;
    return value;
  }
}

}  // namespace detail

// Calls visit with the format as a template argument.
template <class Visitor>
auto with_format(Format format, const Visitor& visit) {
  switch (format) {
    case Format::f32: return visit.template operator()<Format::f32>();
    case Format::f16: return visit.template operator()<Format::f16>();
    case Format::bf16: return visit.template operator()<Format::bf16>();
    case Format::q4_0: return visit.template operator()<Format::q4_0>();
    case Format::q4_1: return visit.template operator()<Format::q4_1>();
    case Format::q5_0: return visit.template operator()<Format::q5_0>();
    case Format::q5_1: return visit.template operator()<Format::q5_1>();
    case Format::q8_0: return visit.template operator()<Format::q8_0>();
    case Format::q4_k: return visit.template operator()<Format::q4_k>();
    case Format::q5_k: return visit.template operator()<Format::q5_k>();
    case Format::q6_k: return visit.template operator()<Format::q6_k>();
  }
  throw Error("a tensor has format " + std::to_string(static_cast<int>(format)) + ", which does not exist", Blame::program);
}

// Panels [first, last) of a tensor, into zeroed memory of as many panels.
inline void pack_panels(const Tensor& tensor, int first, int last, std::byte* to) {
  const auto cols = static_cast<int>(tensor.cols);
  const Form form = form_of(tensor.format);
  const std::size_t row_size = row_bytes(tensor.format, tensor.cols);
  with_format(tensor.format, [&]<Format format>() {
    for (int panel = first; panel < last; ++panel) {
      std::byte* const out = to + static_cast<std::size_t>(panel - first) * form.panel_bytes(cols);
      for (int row = 0; row < 16 && panel * 16 + row < tensor.rows; ++row) {
        const std::byte* source = tensor.bytes.data() + static_cast<std::size_t>(panel * 16 + row) * row_size;
        if constexpr (form_of(format).integers) {
          detail::pack_integers<format>(source, row, cols, out);
        } else {
          constexpr std::size_t size = form_of(format).bits / 8;
          for (std::size_t k = 0; k < static_cast<std::size_t>(cols); ++k) std::memcpy(out + (16 * k + static_cast<std::size_t>(row)) * size, source + k * size, size);
        }
      }
    }
  });
}

// A row back to floats: what the embedding of a token is read from.
inline void unpack_row(const PackedMatrix& matrix, int row, float* out) {  // [cols]
  const std::byte* const panel = matrix.data + static_cast<std::size_t>(row / 16) * matrix.panel_bytes();
  const auto lane = static_cast<std::size_t>(row % 16);
  with_format(matrix.format, [&]<Format format>() {
    constexpr Form form = form_of(format);
    if constexpr (!form.integers) {
      for (std::size_t k = 0; k < static_cast<std::size_t>(matrix.cols); ++k) {
        if constexpr (format == Format::f32) {
          std::memcpy(out + k, panel + (16 * k + lane) * 4, 4);
        } else {
          std::uint16_t bits;
          std::memcpy(&bits, panel + (16 * k + lane) * 2, 2);
          out[k] = format == Format::f16 ? half_to_float(bits) : bfloat_to_float(bits);
        }
      }
    } else {
      const std::byte* const scales = panel + form.weight_bytes(matrix.cols);
      const auto half = [&](std::size_t at) { return half_at(scales + at + 2 * lane); };
      for (int column = 0; column < matrix.cols; column += form.group) {
        float scale, least = 0;
        if constexpr (form.two_levels) {
          const std::size_t at = static_cast<std::size_t>(column / 256) * form.scale_bytes(256), group = static_cast<std::size_t>(column % 256 / form.group);
          const auto factor = [&](std::size_t g) { return scales[at + 32 * static_cast<std::size_t>(form.halves()) + 16 * g + lane]; };
          if constexpr (form.minimum) {
            scale = half(at) * static_cast<float>(factor(group));
            least = -(half(at + 32) * static_cast<float>(factor(group + 256 / form.group)));
          } else {
            scale = half(at) * static_cast<float>(static_cast<std::int8_t>(factor(group)));
          }
        } else {
          const std::size_t at = static_cast<std::size_t>(column / block_columns) * form.scale_bytes(block_columns);
          scale = half(at);
          if constexpr (form.minimum) least = half(at + 32);
        }
        const std::byte* const block = panel + static_cast<std::size_t>(column / block_columns) * static_cast<std::size_t>(form.block_bytes());
        for (int inside = column % block_columns; inside < column % block_columns + form.group; ++inside) {
          const unsigned value = detail::packed_integer<form>(block, lane, inside);
          const float product = scale * static_cast<float>(static_cast<int>(value) - form.zero);
          out[column / block_columns * block_columns + inside] = form.minimum ? product + least : product;
        }
      }
    }
  });
}

}  // namespace diecast::cpu
