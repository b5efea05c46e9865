// Activations as the integer products take them: 32 neighbours share a scale. Narrow ones have 8 bits, the greatest becomes 127. Wide ones have 15,
// the greatest becomes 16,256 = 127 * 128, and they lie in two planes: 128 times the upper byte, and the lower one. With each block go the sums of
// its integers, which zero points and minima are multiplied by.
#pragma once

#include <cstddef>
#include <cstdint>

#include <diecast/cpu/form.hpp>
#include <diecast/cpu/lanes.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::cpu::inline DIECAST_ISA {

// Rows of activations: floats, and their integers. Strides are whole vectors; what lies behind cols is 0.
struct Activations {
  float* values{};            // [rows][cols padded to 16]
  std::int8_t* integers{};    // [rows][cols]; of wide ones the upper byte
  std::int8_t* lower{};       // [rows][cols]; null: narrow
  float* scales{};            // [rows][cols / 32]
  float* sums{};              // [rows][cols / 32] scale times the sum of the integers
  std::int32_t* offsets{};    // [rows][cols / 32] -128 times the sum of the integers
  std::int32_t* offsets16{};  // [rows][cols / 16] the same for each 16
  int cols{};

  int stride() const { return round_up(cols, lanes); }
  int blocks() const { return cols / block_columns; }
  Activations from(int row) const {  // this row and those behind it
    const auto r = static_cast<std::size_t>(row), at = r * static_cast<std::size_t>(cols), in_blocks = r * static_cast<std::size_t>(blocks());
    return {values + r * static_cast<std::size_t>(stride()), integers + at, lower ? lower + at : nullptr, scales + in_blocks, sums + in_blocks, offsets + in_blocks,
            offsets16 + 2 * in_blocks, cols};
  }
};

namespace inner {

template <bool wide>
void quantise_blocks(const Activations& x, std::size_t row) {
  constexpr float most_integer = wide ? 16256.0F : 127.0F;
  const auto blocks = static_cast<std::size_t>(x.blocks());
  const float* values = x.values + row * static_cast<std::size_t>(x.stride());
  const auto put = [&](std::size_t at, Ints integers) {
    if constexpr (wide) {
      const Ints upper = shift_right<7>(integers + broadcast_int(64));
      store_bytes(x.integers + at, upper);
      store_bytes(x.lower + at, integers - shift_left<7>(upper));
    } else {
      store_bytes(x.integers + at, integers);
    }
  };
  for (std::size_t block = 0; block < blocks; ++block, values += 32) {
    const Floats a = load(values), b = load(values + 16);
    const float most = greatest(larger(abs(a), abs(b)));
    const float wrong = sum(fma(a, broadcast(0.0F), b * broadcast(0.0F)));  // NaN where one of them is not finite, so that it is not lost
    const float scale = most / most_integer + wrong;
    const Floats inverse = broadcast(most > 1e-30F ? most_integer / most : 0.0F);  // below that the quotient is not finite, and all integers are 0
    const Ints first = round_to_ints(a * inverse), second = round_to_ints(b * inverse);
    const std::size_t at = row * blocks + block;
    put(32 * at, first);
    put(32 * at + 16, second);
    const std::int32_t counts[2] = {sum(first), sum(second)};
    x.scales[at] = scale;
    x.sums[at] = scale * static_cast<float>(counts[0] + counts[1]);
    x.offsets[at] = -128 * (counts[0] + counts[1]);
    x.offsets16[2 * at] = -128 * counts[0];
    x.offsets16[2 * at + 1] = -128 * counts[1];
  }
}

}  // namespace inner

inline void quantise(const Activations& x, int row) {
  if (x.lower) inner::quantise_blocks<true>(x, static_cast<std::size_t>(row));
  else inner::quantise_blocks<false>(x, static_cast<std::size_t>(row));
}

}  // namespace diecast::cpu::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
