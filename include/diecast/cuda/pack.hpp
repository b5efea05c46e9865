// From a tensor in its file's format to the rows that device code reads (kernels/weight_form.hpp). Nothing is rounded: integers and scales are
// the file's own, in another order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <diecast/error.hpp>
#include <diecast/files/affine_block.hpp>
#include <diecast/files/decode.hpp>
#include <diecast/files/format.hpp>
#include <diecast/files/weights.hpp>
#include <diecast/kernels/weight_form.hpp>

namespace diecast::cuda {

constexpr kernels::WeightForm form_of(Format format) {
  switch (format) {
    case Format::f32:
      return kernels::f32_form;
    case Format::f16:
      return kernels::f16_form;
    case Format::bf16:
      return kernels::bf16_form;
    case Format::q4_0:
      return kernels::q4_0_form;
    case Format::q4_1:
      return kernels::q4_1_form;
    case Format::q5_0:
      return kernels::q5_0_form;
    case Format::q5_1:
      return kernels::q5_1_form;
    case Format::q8_0:
      return kernels::q8_0_form;
    case Format::q4_k:
      return kernels::q4_k_form;
    case Format::q5_k:
      return kernels::q5_k_form;
    case Format::q6_k:
      return kernels::q6_k_form;
  }
  return kernels::f32_form;
}

namespace detail {

// A row of floats: pieces of 16 bytes, of 32-bit floats in two planes. Columns beyond the row's are 0.
inline void pack_float_row(const std::byte* from, int columns, int size, std::byte* to) {
  const int octets = kernels::WeightForm::octets(columns);
  for (int i = 0; i < columns; ++i) {
    const int place = size == 4 ? (i % 8 / 4 * octets + i / 8) * 4 + i % 4 : i;
    std::memcpy(to + static_cast<std::ptrdiff_t>(place) * size, from + static_cast<std::ptrdiff_t>(i) * size,
                static_cast<std::size_t>(size));
  }
}

// The integers of 32 columns, each 0 to 2^bits - 1 (of 8 bits: a signed byte).
inline void pack_block(const kernels::WeightForm& form, const std::uint8_t* q, int block, int blocks, std::byte* row, std::byte* high) {
  for (int i = 0; i < 32; ++i) {
    if (form.bits == 8) {
      row[(i / 16 * blocks + block) * 16 + i % 16] = static_cast<std::byte>(q[i]);
      continue;
    }
    row[block * 16 + i % 16] |= static_cast<std::byte>((q[i] & 15) << (i < 16 ? 0 : 4));
    const int quad = i / 4, within = i % 4;
    if (form.bits == 5) high[block * 4 + within] |= static_cast<std::byte>(q[i] >> 4 << quad);
    if (form.bits == 6) high[block * 8 + quad / 4 * 4 + within] |= static_cast<std::byte>(q[i] >> 4 << 2 * (quad % 4));
  }
}

template <AffineBlock B>
void pack_integer_row(const kernels::WeightForm& form, const std::byte* from, int columns, std::byte* to) {
  const int blocks = columns / kernels::block_columns;
  std::byte* const high = to + form.low_bytes(columns);
  std::byte* const halves = to + form.scale_offset(columns);
  std::byte* const factors = to + form.factor_offset(columns);
  const auto size = static_cast<std::size_t>(2 * form.halves());
  for (int at = 0; at < columns / B.block; ++at) {
    const std::byte* source = from + at * B.bytes;
    const auto centred = unpack_block<B>(source);
    std::uint8_t q[B.block];
    for (std::size_t i = 0; i < B.block; ++i) q[i] = static_cast<std::uint8_t>(centred[i] + form.zero);
    for (int i = 0; i < B.block; i += 32) pack_block(form, q + i, (at * B.block + i) / 32, blocks, to, high);
    std::memcpy(halves + static_cast<std::size_t>(at) * size, source + B.scale_offset, size);
    if constexpr (B.block == kernels::super_columns) {
      const auto all = group_factors<B>(source);
      const auto groups = static_cast<std::size_t>(group_count(B.scales));
      const std::size_t per_plane = static_cast<std::size_t>(blocks) * static_cast<std::size_t>(form.groups());
      for (std::size_t plane = 0; plane < static_cast<std::size_t>(form.halves()); ++plane)
        for (std::size_t g = 0; g < groups; ++g)
          factors[plane * per_plane + static_cast<std::size_t>(at) * groups + g] = static_cast<std::byte>(all[plane * groups + g]);
    }
  }
}

inline void pack_row(Format format, const std::byte* from, int columns, std::byte* to) {
  const kernels::WeightForm form = form_of(format);
  switch (format) {
    case Format::f32:
      return pack_float_row(from, columns, 4, to);
    case Format::f16:
    case Format::bf16:
      return pack_float_row(from, columns, 2, to);
    case Format::q4_0:
      return pack_integer_row<q4_0_block>(form, from, columns, to);
    case Format::q4_1:
      return pack_integer_row<q4_1_block>(form, from, columns, to);
    case Format::q5_0:
      return pack_integer_row<q5_0_block>(form, from, columns, to);
    case Format::q5_1:
      return pack_integer_row<q5_1_block>(form, from, columns, to);
    case Format::q8_0:
      return pack_integer_row<q8_0_block>(form, from, columns, to);
    case Format::q4_k:
      return pack_integer_row<q4_k_block>(form, from, columns, to);
    case Format::q5_k:
      return pack_integer_row<q5_k_block>(form, from, columns, to);
    case Format::q6_k:
      return pack_integer_row<q6_k_block>(form, from, columns, to);
  }
}

}  // namespace detail

// All rows of a matrix. Refuses a tensor whose bytes are not what its shape takes.
inline std::vector<unsigned char> pack(const Tensor& tensor) {
  const kernels::WeightForm form = form_of(tensor.format);
  const auto columns = static_cast<int>(tensor.cols);
  const std::size_t stride = row_bytes(tensor.format, tensor.cols), rows = static_cast<std::size_t>(tensor.rows);
  if (!form.fits(columns) || tensor.bytes.size() != stride * rows)
    throw Error("tensor '" + tensor.name + "' has " + std::to_string(tensor.bytes.size()) + " bytes of " +
                    std::string(layout(tensor.format).name) + ", " + std::to_string(tensor.rows) + " rows of " +
                    std::to_string(tensor.cols) + " values take " + std::to_string(stride * rows),
                Blame::program);
  const auto packed_stride = static_cast<std::size_t>(form.row_bytes(columns));
  std::vector<unsigned char> packed(packed_stride * rows);
  for (std::size_t row = 0; row < rows; ++row)
    detail::pack_row(tensor.format, tensor.bytes.data() + row * stride, columns,
                     reinterpret_cast<std::byte*>(packed.data()) + row * packed_stride);
  return packed;
}

}  // namespace diecast::cuda
