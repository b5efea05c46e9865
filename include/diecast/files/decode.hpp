// Weights of every format to floats, exactly: the same bits as ggml's own dequantisation.
// The format is decided once a row, outside every loop over weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include <diecast/error.hpp>
#include <diecast/files/affine_block.hpp>
#include <diecast/files/format.hpp>
#include <diecast/files/half.hpp>
#include <diecast/files/weights.hpp>

namespace diecast {

constexpr std::size_t row_bytes(Format format, std::int64_t cols) {
  return static_cast<std::size_t>(cols / layout(format).block) * static_cast<std::size_t>(layout(format).bytes);
}

template <AffineBlock B>
void decode_blocks(const std::byte* from, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; i += B.block) decode_block<B>(from + i / B.block * B.bytes, out + i);
}

// out.size() weights that lie at `from`; a multiple of the format's block.
inline void decode_values(Format format, const std::byte* from, std::span<float> out) {
  const std::size_t count = out.size();
  const auto each = [&](auto convert) {
    for (std::size_t i = 0; i < count; ++i) {
      std::uint16_t bits;
      std::memcpy(&bits, from + 2 * i, sizeof(bits));
      out[i] = convert(bits);
    }
  };
  switch (format) {
    case Format::f32: std::memcpy(out.data(), from, count * sizeof(float)); return;
    case Format::f16: return each(half_to_float);
    case Format::bf16: return each(bfloat_to_float);
    case Format::q4_0: return decode_blocks<q4_0_block>(from, count, out.data());
    case Format::q4_1: return decode_blocks<q4_1_block>(from, count, out.data());
    case Format::q5_0: return decode_blocks<q5_0_block>(from, count, out.data());
    case Format::q5_1: return decode_blocks<q5_1_block>(from, count, out.data());
    case Format::q8_0: return decode_blocks<q8_0_block>(from, count, out.data());
    case Format::q4_k: return decode_blocks<q4_k_block>(from, count, out.data());
    case Format::q5_k: return decode_blocks<q5_k_block>(from, count, out.data());
    case Format::q6_k: return decode_blocks<q6_k_block>(from, count, out.data());
  }
}

// One row, or several rows that follow each other: out holds count * cols floats.
inline void decode_rows(const Tensor& tensor, std::int64_t first, std::int64_t count, std::span<float> out) {
  const auto fail = [&](const std::string& what) { throw Error("tensor '" + tensor.name + "': " + what, Blame::program); };
  if (first < 0 || count < 0 || first > tensor.rows || count > tensor.rows - first) {
    fail("rows " + std::to_string(first) + " to " + std::to_string(first + count) + " of " + std::to_string(tensor.rows) + " rows were asked for");
  }
  if (tensor.cols < 0 || tensor.cols % layout(tensor.format).block != 0) {
    fail("rows of " + std::to_string(tensor.cols) + " values are no multiple of the " + std::to_string(layout(tensor.format).block) +
         " values in a block of " + std::string(layout(tensor.format).name));
  }
  if (out.size() != static_cast<std::size_t>(count) * static_cast<std::size_t>(tensor.cols)) {
    fail("room for " + std::to_string(out.size()) + " values, " + std::to_string(count) + " rows of " + std::to_string(tensor.cols) + " were asked for");
  }
  const std::size_t stride = row_bytes(tensor.format, tensor.cols);
  if (tensor.bytes.size() != stride * static_cast<std::size_t>(tensor.rows)) {
    fail("it has " + std::to_string(tensor.bytes.size()) + " bytes, its shape takes " + std::to_string(stride * static_cast<std::size_t>(tensor.rows)));
  }
  if (!out.empty()) decode_values(tensor.format, tensor.bytes.data() + static_cast<std::size_t>(first) * stride, out);
}
inline void decode_row(const Tensor& tensor, std::int64_t row, std::span<float> out) { decode_rows(tensor, row, 1, out); }
inline void decode_tensor(const Tensor& tensor, std::span<float> out) { decode_rows(tensor, 0, tensor.rows, out); }

}  // namespace diecast
