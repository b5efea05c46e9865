// From packed matrices back to the tensors that they came from, bit for bit: packing loses nothing, so an engine file is all that the reference
// and the digests need.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <diecast/cpu/engine_file.hpp>
#include <diecast/cpu/form.hpp>
#include <diecast/cpu/pack.hpp>
#include <diecast/cpu/parts.hpp>
#include <diecast/files/half.hpp>
#include <diecast/files/weights.hpp>
#include <diecast/tokens/make_tokenizer.hpp>

namespace diecast::cpu {

namespace detail {

template <BitPlane Plane>
void pack_plane(const std::uint8_t* q, int values, int down, std::byte* block) {
  constexpr int shares = 8 / Plane.bits;
  constexpr unsigned mask = (1U << Plane.bits) - 1U;
  for (int i = 0; i < values; ++i) {
    const int chunk = i / (Plane.stride * shares), share = i % (Plane.stride * shares) / Plane.stride;
    block[Plane.offset + chunk * Plane.stride + i % Plane.stride] |= static_cast<std::byte>((static_cast<unsigned>(q[i]) >> down & mask) << (Plane.bits * share));
  }
}

// The group factors of a K-format's super-block: group_factors, the other way.
template <AffineBlock B>
void put_factors(const std::uint8_t* factors, std::byte* block) {
  constexpr int groups = group_count(B.scales);
  std::byte* const to = block + B.factor_offset;
  if constexpr (B.scales == ScaleForm::signed_bytes) {
    for (int g = 0; g < groups; ++g) to[g] = static_cast<std::byte>(factors[g]);
  } else {
    for (int g = 0; g < 4; ++g) {
      to[g] = static_cast<std::byte>(factors[g] | factors[g + 4] >> 4 << 6);
      to[g + 4] = static_cast<std::byte>(factors[groups + g] | factors[groups + g + 4] >> 4 << 6);
      to[g + 8] = static_cast<std::byte>((factors[g + 4] & 15U) | (factors[groups + g + 4] & 15U) << 4);
    }
  }
}

template <Format format>
void unpack_integers(const std::byte* panel, std::size_t lane, int cols, std::byte* to) {  // to: zeroed
  constexpr AffineBlock B = affine_block(format);
  constexpr Form form = form_of(format);
  const std::byte* const scales = panel + form.weight_bytes(cols);
  for (int column = 0; column < cols; column += B.block) {
    std::byte* const block = to + column / B.block * B.bytes;
    std::uint8_t q[B.block];
    for (int i = 0; i < B.block; ++i) {
      const std::byte* const packed = panel + static_cast<std::size_t>((column + i) / block_columns) * static_cast<std::size_t>(form.block_bytes());
      const unsigned value = packed_integer<form>(packed, lane, i % block_columns);
      q[i] = static_cast<std::uint8_t>(B.is_signed ? value - 128U : value);
    }
    pack_plane<B.low>(q, B.block, 0, block);
    if constexpr (B.high.bits > 0) pack_plane<B.high>(q, B.block, B.low.bits, block);
    const std::byte* const at = scales + (form.two_levels ? static_cast<std::size_t>(column / 256) * form.scale_bytes(256)
                                                          : static_cast<std::size_t>(column / block_columns) * form.scale_bytes(block_columns));
    std::memcpy(block + B.scale_offset, at + 2 * lane, 2);
    if constexpr (form.minimum) std::memcpy(block + B.scale_offset + 2, at + 32 + 2 * lane, 2);
    if constexpr (form.two_levels) {
      constexpr std::size_t count = static_cast<std::size_t>(group_count(B.scales) * form.halves());
      std::uint8_t factors[count];
      for (std::size_t g = 0; g < count; ++g) factors[g] = static_cast<std::uint8_t>(at[32 * static_cast<std::size_t>(form.halves()) + 16 * g + lane]);
      put_factors<B>(factors, block);
    }
  }
}

}  // namespace detail

inline Tensor unpack_matrix(const PackedMatrix& matrix) {
  const std::size_t row_size = row_bytes(matrix.format, matrix.cols);
  auto bytes = std::make_shared<std::vector<std::byte>>(row_size * static_cast<std::size_t>(matrix.rows));
  with_format(matrix.format, [&]<Format format>() {
    for (int row = 0; row < matrix.rows; ++row) {
      const std::byte* const panel = matrix.data + static_cast<std::size_t>(row / 16) * matrix.panel_bytes();
      std::byte* const to = bytes->data() + static_cast<std::size_t>(row) * row_size;
      const auto lane = static_cast<std::size_t>(row % 16);
      if constexpr (form_of(format).integers) {
        detail::unpack_integers<format>(panel, lane, matrix.cols, to);
      } else {
        constexpr std::size_t size = form_of(format).bits / 8;
        for (std::size_t k = 0; k < static_cast<std::size_t>(matrix.cols); ++k) std::memcpy(to + k * size, panel + (16 * k + lane) * size, size);
      }
    }
  });
  return {"", matrix.format, matrix.rows, matrix.cols, *bytes, bytes};
}

// Vectors are kept as floats; their format is noted, and what came from halves goes back to them exactly.
inline Tensor unpack_vector(const float* values, int cols, Format format) {
  auto bytes = std::make_shared<std::vector<std::byte>>(row_bytes(format, cols));
  for (std::size_t i = 0; i < static_cast<std::size_t>(cols); ++i) {
    const std::uint16_t sixteen = format == Format::bf16 ? float_to_bfloat(values[i]) : float_to_half(values[i]);
    if (format == Format::f32) std::memcpy(bytes->data() + 4 * i, values + i, 4);
    else std::memcpy(bytes->data() + 2 * i, &sixteen, 2);
  }
  return {"", format, 1, cols, *bytes, bytes};
}

inline Weights unpack_weights(const PackedModel& model) {
  Weights weights;
  std::size_t next = 0;
  const auto vector = [&](const float* values, int cols) { return unpack_vector(values, cols, model.vector_formats[next++]); };
  const auto optional_vector = [&](const float* values, int cols, std::optional<Tensor>& to) {
    if (values) to = vector(values, cols);
  };
  const auto norm = [&](const NormPart& part, NormWeights& to) {
    to.weight = vector(part.weight, model.spec.hidden);
    optional_vector(part.bias, model.spec.hidden, to.bias);
  };
  const auto optional_norm = [&](const NormPart& part, std::optional<NormWeights>& to) {
    if (part.weight) norm(part, to.emplace());
  };
  const auto linear = [&](const LinearPart& part, LinearWeights& to) {
    optional_vector(part.bias, part.matrix.rows, to.bias);
    to.weight = unpack_matrix(part.matrix);
  };
  const Attention& a = model.spec.attention;
  const int norm_heads = a.qk_norm == QkNorm::all_heads ? a.heads : 1, norm_kv_heads = a.qk_norm == QkNorm::all_heads ? a.kv_heads : 1;
  for (const LayerParts& part : model.parts.layers) {  // in the order of each_part
    LayerWeights& to = weights.layers.emplace_back();
    optional_norm(part.attention_norm, to.attention_norm);
    optional_vector(part.q_norm, norm_heads * a.head_dim, to.q_norm);
    optional_vector(part.k_norm, norm_kv_heads * a.head_dim, to.k_norm);
    optional_norm(part.after_attention, to.after_attention);
    optional_norm(part.mlp_norm, to.mlp_norm);
    optional_norm(part.after_mlp, to.after_mlp);
    linear(part.q, to.q);
    linear(part.k, to.k);
    linear(part.v, to.v);
    linear(part.output, to.output);
    if (part.gate.matrix.rows > 0) linear(part.gate, to.gate.emplace());
    linear(part.up, to.up);
    linear(part.down, to.down);
  }
  norm(model.parts.final_norm, weights.final_norm);
  optional_vector(model.parts.head.bias, model.spec.vocab, weights.head_bias);
  weights.embedding = unpack_matrix(model.parts.embedding);
  if (std::holds_alternative<UntiedHead>(model.spec.head)) weights.head = unpack_matrix(model.parts.head.matrix);
  if (model.parts.position.rows > 0) weights.position = unpack_matrix(model.parts.position);
  return weights;
}

// The tokenizer's tables as its model file had them. Refuses state that is not what they give.
inline TokenizerTables unpack_tokenizer(const Model& model) {
  const auto& prepared = model.tokenizer.prepared;
  if (!prepared || !model.tokenizer.pieces.empty()) return model.tokenizer;
  BinaryReader reader(prepared->texts, model.path);
  auto tables = reader.get<TokenizerTables>();
  const std::string state = diecast::detail::prepared_state(tables);
  if (!std::ranges::equal(std::as_bytes(std::span(state)), prepared->bytes)) reader.fail("its prepared tokenizer is not what its tokenizer's tables give");
  return tables;
}

}  // namespace diecast::cpu
