// y = W x, sixteen rows of W at a time, for one token or a tile of up to twelve. Every output is accumulated in one order, whatever the tile:
// for each block of 32 columns the exact sum of the integer products, f = fma(d * s, sum, f), then f = fma(m, s * count, f).
// Floats take four sums, of the columns 0, 4, 8, ...; 1, 5, 9, ... and so on, and ((0) + (1)) + ((2) + (3)) in the end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <diecast/cpu/ahead.hpp>
#include <diecast/cpu/form.hpp>
#include <diecast/cpu/lanes.hpp>
#include <diecast/cpu/pack.hpp>
#include <diecast/cpu/quantise.hpp>
#include <diecast/cpu/tiles.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::cpu::inline DIECAST_ISA {

inline constexpr int run_time = 0;    // an extent that is not known to the compiler: all models use it, since known ones gain nothing (bench/README.md)
inline constexpr int least_tile = 6;  // tokens from which on a tile of sixteen costs less than they do one by one

// Where a product's outputs go: out[token * stride + row].
struct Output {
  float* values{};
  std::size_t stride{};
};

namespace inner {

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
#pragma GCC unroll 16
    for (std::size_t t = 0; t < Tokens; ++t) {
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
    }
  }
  ahead.advance(form.panel_bytes(cols) - read_a_block * static_cast<std::size_t>(blocks));
  for (std::size_t t = 0; t < Tokens; ++t) out[t] = f[t];
}

#if defined(__AMX_INT8__)
// All integers of a panel as whole bytes, a quad of each row in a vector: [cols / 4][64].
template <Format format>
[[gnu::flatten]] void unpack_panel(const std::byte* panel, int cols, std::uint8_t* to) {
  constexpr Form form = form_of(format);
  for (int block = 0; block < cols / block_columns; ++block) {
    const auto* const at = reinterpret_cast<const std::uint8_t*>(panel) + static_cast<std::size_t>(block) * static_cast<std::size_t>(form.block_bytes());
    unrolled<8>([&](auto quad) { store_bytes(to + 512 * static_cast<std::size_t>(block) + 64 * quad, quad_of<form.bits, quad>(at)); });
  }
}

// Sixteen tokens as tiles take them: their integers [group][16][columns of a group], and the numbers of a block or a group side by side.
struct TokenTile {
  const std::int8_t* integers;   // of wide ones the upper plane
  const std::int8_t* lower;      // null: narrow
  const float* numbers;          // [block][2][16] scales, then sums
  const std::int32_t* offsets;   // [group][16]
};

// Begins a step's two products: two groups of narrow tokens, or both planes of one group of wide ones.
template <std::size_t columns, bool wide, int set>
[[gnu::always_inline]] inline void begin_step(const TokenTile& x, const std::uint8_t* unpacked, std::size_t step, std::size_t groups) {
  const std::size_t at = 16 * columns * (wide ? 1 : 2) * step;
  if constexpr (wide) {
    begin_tiles<set, true>(x.integers + at, unpacked + at, x.lower + at, unpacked + at, columns);
  } else {
    const std::size_t other = 2 * step + 1 < groups ? at + 16 * columns : at;  // an odd last one: nobody reads its neighbour's sums
    begin_tiles<set, false>(x.integers + at, unpacked + at, x.integers + other, unpacked + other, columns);
  }
}

// Adds a group's sums, scaled, to sixteen tokens' outputs.
template <Form form, bool wide>
[[gnu::always_inline]] inline void add_group(const std::byte* scales, const TokenTile& x, std::size_t group, const std::int32_t* sums, const std::int32_t* lower, Floats (&f)[16]) {
  constexpr std::size_t in_block = 32 / form.group;
  const std::size_t b = group / in_block;
  const BlockScale<form> of(scales, static_cast<int>(b));
  const Floats scale = of.scale[in_block == 1 ? 0 : group % in_block];
  const float* const numbers = x.numbers + 32 * b;
#pragma GCC unroll 16
  for (std::size_t t = 0; t < 16; ++t) {
    Ints acc = load_ints(sums + 16 * t);
    if constexpr (wide) acc = shift_left<7>(acc) + load_ints(lower + 16 * t);
    if constexpr (form.zero != 0) acc = acc + shift_right<shift_of(form.zero)>(broadcast_int(x.offsets[16 * group + t]));
    f[t] = fma(scale * broadcast(numbers[t]), to_floats(acc), f[t]);
    if constexpr (form.minimum) f[t] = fma(of.minimum, broadcast(numbers[16 + t]), f[t]);
  }
}

// One step: its sums are fetched, the next one's products begun, then the sums are added. No lambda takes f by reference: g++ would keep it in memory,
// which costs half of the speed.
template <Form form, bool wide, int set>
[[gnu::always_inline]] inline void take_step(const std::byte* scales, const std::uint8_t* unpacked, const TokenTile& x, std::size_t step, std::size_t groups, std::int32_t* sums,
                                             Floats (&f)[16]) {
  const std::size_t steps = wide ? groups : (groups + 1) / 2;
  store_tiles<set>(sums, sums + 256);
  if (step + 1 < steps) begin_step<form.group, wide, 1 - set>(x, unpacked, step + 1, groups);
  if constexpr (wide) {
    add_group<form, true>(scales, x, step, sums, sums + 256, f);
  } else {
    add_group<form, false>(scales, x, 2 * step, sums, nullptr, f);
    if (2 * step + 1 < groups) add_group<form, false>(scales, x, 2 * step + 1, sums + 256, nullptr, f);
  }
}

// integer_panel for sixteen tokens. unpacked: the panel's integers as bytes.
template <Format format, int Cols, bool wide>
void tile_panel(const std::byte* panel, const std::uint8_t* unpacked, const TokenTile& x, int run_time_cols, Floats (&out)[16]) {
  constexpr Form form = form_of(format);
  const int cols = Cols == run_time ? run_time_cols : Cols;
  const std::byte* const scales = panel + form.weight_bytes(cols);
  const std::size_t groups = static_cast<std::size_t>(cols) / form.group, steps = wide ? groups : (groups + 1) / 2;
  alignas(64) std::int32_t sums[2 * 16 * 16];
  Floats f[16];
#pragma GCC unroll 16
  for (int t = 0; t < 16; ++t) f[t] = broadcast(0.0F);
  begin_step<form.group, wide, 0>(x, unpacked, 0, groups);
  std::size_t step = 0;
  for (; step + 2 <= steps; step += 2) {
    take_step<form, wide, 0>(scales, unpacked, x, step, groups, sums, f);
    take_step<form, wide, 1>(scales, unpacked, x, step + 1, groups, sums, f);
  }
  if (step < steps) take_step<form, wide, 0>(scales, unpacked, x, step, groups, sums, f);
#pragma GCC unroll 16
  for (int t = 0; t < 16; ++t) out[t] = f[t];
}

// Memory of this thread that only grows, 64-byte aligned: `Use` tells one from another.
template <class T, int Use>
T* thread_memory(std::size_t size) {
  thread_local std::vector<T> values;
  values.resize((std::max)(values.size(), size + 64 / sizeof(T)));
  return values.data() + (64 - reinterpret_cast<std::uintptr_t>(values.data()) % 64) % 64 / sizeof(T);
}

// All tokens, sixteen after sixteen, as tiles take them.
template <std::size_t group>
class TokenTiles {
 public:
  TokenTiles(const Activations& x, int tokens) : cols_(static_cast<std::size_t>(x.cols)), wide_(x.lower != nullptr) {
    const auto tiles = static_cast<std::size_t>((tokens + 15) / 16), blocks = cols_ / block_columns, groups = cols_ / group;
    integers_ = thread_memory<std::int8_t, 0>(tiles * 16 * cols_ * (wide_ ? 2 : 1));
    numbers_ = thread_memory<float, 0>(tiles * 32 * blocks);
    offsets_ = thread_memory<std::int32_t, 0>(tiles * 16 * groups);
    const std::int32_t* const of_groups = group == 16 ? x.offsets16 : x.offsets;
    for (std::size_t tile = 0; tile < tiles; ++tile) {
      const TokenTile to = (*this)[tile];
      const std::size_t first = 16 * tile;
      lay(x.integers + first * cols_, groups, const_cast<std::int8_t*>(to.integers));
      if (wide_) lay(x.lower + first * cols_, groups, const_cast<std::int8_t*>(to.lower));
      turn(x.scales + first * blocks, blocks, 32, const_cast<float*>(to.numbers));
      turn(x.sums + first * blocks, blocks, 32, const_cast<float*>(to.numbers) + 16);
      turn(of_groups + first * groups, groups, 16, const_cast<std::int32_t*>(to.offsets));
    }
  }

  TokenTile operator[](std::size_t tile) const {
    const std::size_t blocks = cols_ / block_columns, groups = cols_ / group;
    const std::int8_t* const at = integers_ + tile * 16 * cols_ * (wide_ ? 2 : 1);
    return {at, wide_ ? at + 16 * cols_ : nullptr, numbers_ + tile * 32 * blocks, offsets_ + tile * 16 * groups};
  }

 private:
  void lay(const std::int8_t* from, std::size_t groups, std::int8_t* to) const {  // [16][cols] to [groups][16][group]
    for (std::size_t g = 0; g < groups; ++g)
      for (std::size_t t = 0; t < 16; ++t, to += group) std::memcpy(to, from + t * cols_ + g * group, group);
  }
  template <class T>
  static void turn(const T* from, std::size_t count, std::size_t stride, T* to) {  // [16][count] to [count][16 of stride]
    for (std::size_t t = 0; t < 16; ++t)
      for (std::size_t i = 0; i < count; ++i) to[stride * i + t] = from[t * count + i];
  }

  std::int8_t* integers_;
  float* numbers_;
  std::int32_t* offsets_;
  std::size_t cols_;
  bool wide_;
};

// Tokens in sixteens; the last tile may hold fewer, and reads rows behind them that belong to nobody. Two panels at a time, while the tokens' bytes
// are in the first cache.
template <Format format, int Cols>
void product_by_tiles(const PackedMatrix& matrix, const float* bias, const Activations& x, int tokens, int first_panel, int last_panel, Output out, Ahead& ahead) {
  constexpr Form form = form_of(format);
  constexpr int together = 2;
  const int cols = matrix.cols;
  const std::size_t panel_bytes = form.panel_bytes(cols);
  std::uint8_t* const unpacked = thread_memory<std::uint8_t, 0>(form.bits == 8 ? 0 : together * 16 * static_cast<std::size_t>(cols));
  const TokenTiles<form.group> tiles_of(x, tokens);
  const Tiles tiles(form.group);
  for (int begin = first_panel; begin < last_panel; begin += together) {
    const int end = (std::min)(begin + together, last_panel);
    const std::uint8_t* weights[together] = {};
    for (int panel = begin; panel < end; ++panel) {
      const std::byte* const data = matrix.data + static_cast<std::size_t>(panel) * panel_bytes;
      ahead.advance(panel_bytes);
      if constexpr (form.bits == 8) {
        weights[panel - begin] = reinterpret_cast<const std::uint8_t*>(data);
      } else {
        std::uint8_t* const to = unpacked + static_cast<std::size_t>(panel - begin) * 16 * static_cast<std::size_t>(cols);
        unpack_panel<format>(data, cols, to);
        weights[panel - begin] = to;
      }
    }
    for (int first = 0; first < tokens; first += 16) {
      const TokenTile tile = tiles_of[static_cast<std::size_t>(first / 16)];
      for (int panel = begin; panel < end; ++panel) {
        const std::byte* const data = matrix.data + static_cast<std::size_t>(panel) * panel_bytes;
        Floats f[16];
        if (tile.lower) tile_panel<format, Cols, true>(data, weights[panel - begin], tile, cols, f);
        else tile_panel<format, Cols, false>(data, weights[panel - begin], tile, cols, f);
        for (int t = 0; t < 16 && first + t < tokens; ++t)
          store_tail(out.values + static_cast<std::size_t>(first + t) * out.stride + 16 * static_cast<std::size_t>(panel),
                     bias ? f[t] + load(bias + 16 * static_cast<std::size_t>(panel)) : f[t], matrix.rows - 16 * panel);
      }
    }
  }
}
#endif

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

}  // namespace inner


// Rows 16 * first_panel to 16 * last_panel of W x for `tokens` tokens, plus the bias [rows padded to 16] where there is one.
template <Format format, int Cols>
void product(const PackedMatrix& matrix, const float* bias, const Activations& x, int tokens, int first_panel, int last_panel, Output out, Ahead& ahead) {
  constexpr bool integers = form_of(format).integers;
  const std::size_t panel_bytes = form_of(format).panel_bytes(Cols == run_time ? matrix.cols : Cols);
  Ahead nothing;
#if defined(__AMX_INT8__)
  if constexpr (integers) {
    if (tokens >= least_tile && tiles_ready()) return inner::product_by_tiles<format, Cols>(matrix, bias, x, tokens, first_panel, last_panel, out, ahead);
  }
#endif
  for (int panel = first_panel; panel < last_panel; ++panel) {
    const std::byte* const data = matrix.data + static_cast<std::size_t>(panel) * panel_bytes;
    const Floats plus = bias ? load(bias + 16 * static_cast<std::size_t>(panel)) : broadcast(0.0F);
    const int rows = matrix.rows - 16 * panel;
    const auto tile = [&]<int Tokens>(int first) {
      Floats f[Tokens];
      Ahead& here = first == 0 ? ahead : nothing;
      if constexpr (integers) {
        if (x.lower) inner::integer_panel<format, Cols, Tokens, true>(data, x, first, f, here);
        else inner::integer_panel<format, Cols, Tokens, false>(data, x, first, f, here);
      } else {
        inner::float_panel<format, Cols, Tokens>(data, x, first, f, here);
      }
#pragma GCC unroll 16
      for (std::size_t token = 0; token < Tokens; ++token)
        store_tail(out.values + (static_cast<std::size_t>(first) + token) * out.stride + 16 * static_cast<std::size_t>(panel), bias ? f[token] + plus : f[token], rows);
    };
    int token = 0;
    if constexpr (integers && !compiled_with_tiles) {  // AMX takes so many together; compiling these as well would take a quarter longer
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
