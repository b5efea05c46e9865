// y = W x, sixteen rows of W at a time, for one token or a tile of up to twelve. Every output is accumulated in one order, whatever the tile:
// for each block of 32 columns the exact sum of the integer products, f = fma(d * s, sum, f), then f = fma(m, s * count, f).
// Floats take four sums, of the columns 0, 4, 8, ...; 1, 5, 9, ... and so on, and ((0) + (1)) + ((2) + (3)) in the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <diecast/cpu/ahead.hpp>
#include <diecast/cpu/form.hpp>
#include <diecast/cpu/lanes.hpp>
#include <diecast/cpu/pack.hpp>
#include <diecast/cpu/quantise.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::cpu::inline DIECAST_ISA {

inline constexpr int run_time = 0;  // an extent that is not known to the compiler

namespace detail {

template <int Bits, std::size_t Quad>
Bytes quad_of(const std::uint8_t* block) {
  if constexpr (Bits == 8) {
    return load_bytes(block + 64 * Quad);
  } else {
    const Bytes pair = load_bytes(block + 64 * (Quad % 4));
    const Bytes low = Quad < 4 ? low_nibbles(pair) : high_nibbles(pair);
    constexpr int quad = static_cast<int>(Quad);
    if constexpr (Bits == 5) return put_bits<4 - quad, 0x10>(low, load_bytes(block + 256));
    else if constexpr (Bits == 6) return put_bits<4 - 2 * (quad % 4), 0x30>(low, load_bytes(block + 256 + 64 * (Quad / 4)));
    else return low;
  }
}

constexpr int shift_of(int zero) {  // -128 times a sum, shifted right by this, is -zero times it
  int shift = 0;
  while (zero > 0 && 128 >> shift != zero) ++shift;
  return shift;
}

// The scales of a block: of its one group, or of its two.
template <Form form>
struct BlockScale {
  Floats scale[32 / form.group];
  Floats minimum;

  BlockScale(const std::byte* scales, int block) {
    const auto halfs = [](const std::byte* at) { return load(reinterpret_cast<const std::uint16_t*>(at)); };
    if constexpr (form.two_levels) {
      const std::byte* at = scales + static_cast<std::size_t>(block / 8) * form.scale_bytes(256);
      const auto* factors = reinterpret_cast<const std::uint8_t*>(at + 32 * form.halves()) + 16 * (block % 8) * (32 / form.group);
      const Floats d = halfs(at);
      if constexpr (form.minimum) {
        scale[0] = d * to_floats(load_unsigned_bytes(factors));
        minimum = (broadcast(0.0F) - halfs(at + 32)) * to_floats(load_unsigned_bytes(factors + 16 * 8));
      } else {
        for (int g = 0; g < 32 / form.group; ++g) scale[g] = d * to_floats(load_signed_bytes(reinterpret_cast<const std::int8_t*>(factors) + 16 * g));
      }
    } else {
      const std::byte* at = scales + static_cast<std::size_t>(block) * form.scale_bytes(block_columns);
      scale[0] = halfs(at);
      if constexpr (form.minimum) minimum = halfs(at + 32);
    }
  }
};

template <Format format, int Cols, int Tokens, bool wide>
[[gnu::flatten]] void integer_panel(const std::byte* panel, const Activations& x, int first, Floats (&out)[Tokens], Ahead& ahead) {
  constexpr Form form = form_of(format);
  const int cols = Cols == run_time ? x.cols : Cols, blocks = cols / block_columns;
  const std::byte* const scales = panel + form.weight_bytes(cols);
  const std::size_t read_a_block = form.panel_bytes(cols) / static_cast<std::size_t>(blocks);
  const auto from = static_cast<std::size_t>(first);
  const std::int8_t* const integers = x.integers + from * static_cast<std::size_t>(cols);
  const std::int8_t* const lower = wide ? x.lower + from * static_cast<std::size_t>(cols) : nullptr;
  const std::size_t a_row = static_cast<std::size_t>(blocks);
  const float* const token_scales = x.scales + from * a_row;
  const float* const token_sums = x.sums + from * a_row;
  const std::int32_t* const offsets = (form.group == 16 ? x.offsets16 : x.offsets) + from * a_row * (32 / form.group);
  Floats f[Tokens];  // of their own, so that they stay in registers
  for (Floats& one : f) one = broadcast(0.0F);
  for (int block = 0; block < blocks; ++block) {
    ahead.advance(read_a_block);
    const auto* const at = reinterpret_cast<const std::uint8_t*>(panel) + static_cast<std::size_t>(block) * static_cast<std::size_t>(form.block_bytes());
    const BlockScale<form> of(scales, block);
    Bytes weights[8];
    unrolled<8>([&](auto number) { weights[number] = quad_of<form.bits, number>(at); });
    unrolled<Tokens>([&](auto t) {
      const auto b = static_cast<std::size_t>(block);
      const std::size_t at_numbers = t * static_cast<std::size_t>(cols) + b * block_columns;
      const Floats s = broadcast(token_scales[t * a_row + b]);
      const auto start = [&](std::size_t group) {
        if constexpr (form.zero == 0) return zero_ints();
        else return shift_right<shift_of(form.zero)>(broadcast_int(offsets[(t * a_row + b) * (32 / form.group) + group]));
      };
      unrolled<32 / form.group>([&](auto group) {
        constexpr std::size_t quads = form.group / 4, first_quad = group() * quads;
        Ints acc = start(group());
        if constexpr (wide) {
          Ints upper = zero_ints();
          unrolled<quads>([&](auto i) { upper = dot<form.bits>(upper, weights[first_quad + i], quad(integers + at_numbers + 4 * (first_quad + i))); });
          unrolled<quads>([&](auto i) { acc = dot<form.bits>(acc, weights[first_quad + i], quad(lower + at_numbers + 4 * (first_quad + i))); });
          acc = acc + shift_left<7>(upper);
        } else {
          unrolled<quads>([&](auto i) { acc = dot<form.bits>(acc, weights[first_quad + i], quad(integers + at_numbers + 4 * (first_quad + i))); });
        }
        f[t] = fma(of.scale[group] * s, to_floats(acc), f[t]);
      });
      if constexpr (form.minimum) f[t] = fma(of.minimum, broadcast(token_sums[t * a_row + b]), f[t]);
    });
  }
  ahead.advance(form.panel_bytes(cols) - read_a_block * static_cast<std::size_t>(blocks));
  unrolled<Tokens>([&](auto t) { out[t] = f[t]; });
}

template <Format format>
Floats load_weights(const std::byte* panel, int column) {
  if constexpr (format == Format::f32) return load(reinterpret_cast<const float*>(panel) + 16 * static_cast<std::size_t>(column));
  const auto* at = reinterpret_cast<const std::uint16_t*>(panel) + 16 * static_cast<std::size_t>(column);
  if constexpr (format == Format::f16) return load(at);
  else return load_bfloats(at);
}

template <Format format, int Cols, int Tokens>
[[gnu::flatten]] void float_panel(const std::byte* panel, const Activations& x, int first, Floats (&f)[Tokens], Ahead& ahead) {
  const int cols = Cols == run_time ? x.cols : Cols;
  const auto stride = static_cast<std::size_t>(round_up(cols, lanes));
  const float* const values = x.values + static_cast<std::size_t>(first) * stride;
  Floats sums[Tokens][4];
  for (auto& of_token : sums)
    for (Floats& one : of_token) one = broadcast(0.0F);
  const auto step = [&](int column, std::size_t which) {
    const Floats weights = load_weights<format>(panel, column);
    unrolled<Tokens>([&](auto token) { sums[token][which] = fma(weights, broadcast(values[token * stride + static_cast<std::size_t>(column)]), sums[token][which]); });
  };
  int column = 0;
  for (; column + 4 <= cols; column += 4) {
    ahead.advance(4 * 16 * static_cast<std::size_t>(form_of(format).bits / 8));
    unrolled<4>([&](auto i) { step(column + static_cast<int>(i()), i()); });
  }
  ahead.advance(form_of(format).panel_bytes(cols) - static_cast<std::size_t>(column) * 16 * static_cast<std::size_t>(form_of(format).bits / 8));
  for (std::size_t i = 0; i < 3 && column < cols; ++column, ++i) step(column, i);
  for (int token = 0; token < Tokens; ++token) f[token] = (sums[token][0] + sums[token][1]) + (sums[token][2] + sums[token][3]);
}

}  // namespace detail

// Where a product's outputs go: out[token * stride + row].
struct Output {
  float* values{};
  std::size_t stride{};
};

// Rows 16 * first_panel to 16 * last_panel of W x for `tokens` tokens, plus the bias [rows padded to 16] where there is one.
template <Format format, int Cols>
void product(const PackedMatrix& matrix, const float* bias, const Activations& x, int tokens, int first_panel, int last_panel, Output out, Ahead& ahead) {
  constexpr bool integers = form_of(format).integers;
  const std::size_t panel_bytes = form_of(format).panel_bytes(Cols == run_time ? matrix.cols : Cols);
  Ahead nothing;
  for (int panel = first_panel; panel < last_panel; ++panel) {
    const std::byte* const data = matrix.data + static_cast<std::size_t>(panel) * panel_bytes;
    const Floats plus = bias ? load(bias + 16 * static_cast<std::size_t>(panel)) : broadcast(0.0F);
    const int rows = matrix.rows - 16 * panel;
    const auto tile = [&]<int Tokens>(int first) {
      Floats f[Tokens];
      Ahead& here = first == 0 ? ahead : nothing;
      if constexpr (integers) {
        if (x.lower) detail::integer_panel<format, Cols, Tokens, true>(data, x, first, f, here);
        else detail::integer_panel<format, Cols, Tokens, false>(data, x, first, f, here);
      } else {
        detail::float_panel<format, Cols, Tokens>(data, x, first, f, here);
      }
      unrolled<Tokens>([&](auto token) {
        store_tail(out.values + (static_cast<std::size_t>(first) + token) * out.stride + 16 * static_cast<std::size_t>(panel), bias ? f[token] + plus : f[token], rows);
      });
    };
    int token = 0;
    if constexpr (integers) {
      for (; token + 12 <= tokens; token += 12) tile.template operator()<12>(token);
      for (; token + 8 <= tokens; token += 8) tile.template operator()<8>(token);
    }
    for (; token + 4 <= tokens; token += 4) tile.template operator()<4>(token);
    if (token + 2 <= tokens) {
      tile.template operator()<2>(token);
      token += 2;
    }
    if (token < tokens) tile.template operator()<1>(token);
  }
}

}  // namespace diecast::cpu::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
