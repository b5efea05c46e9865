// Activations as the integer products take them: 32 neighbours share a scale, the greatest of them becomes 127. With each block go the sums
// of its integers, which zero points and minima are multiplied by.
#pragma once

#include <cstddef>
#include <cstdint>

#include <diecast/cpu/form.hpp>
#include <diecast/cpu/lanes.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::cpu::inline DIECAST_ISA {

// Rows of activations: floats, and their integers. Strides are whole vectors; what lies behind cols is 0.
struct Activations {
  float* values{};         // [rows][cols padded to 16]
  std::int8_t* integers{}; // [rows][cols]
  float* scales{};         // [rows][cols / 32]
  float* sums{};           // [rows][cols / 32] scale times the sum of the integers
  std::int32_t* offsets{}; // [rows][cols / 32] -128 times the sum of the integers
  std::int32_t* offsets16{};  // [rows][cols / 16] the same for each 16
  int cols{};

  int stride() const { return round_up(cols, lanes); }
  int blocks() const { return cols / block_columns; }
};

inline void quantise(const Activations& x, int row) {
  const auto r = static_cast<std::size_t>(row);
  const float* values = x.values + r * static_cast<std::size_t>(x.stride());
  std::int8_t* integers = x.integers + r * static_cast<std::size_t>(x.cols);
  const auto blocks = static_cast<std::size_t>(x.blocks());
  for (std::size_t block = 0; block < blocks; ++block, values += 32, integers += 32) {
    const Floats a = load(values), b = load(values + 16);
    const float most = greatest(max(abs(a), abs(b)));
    const float wrong = sum(fma(a, broadcast(0.0F), b * broadcast(0.0F)));  // NaN where one of them is not finite, so that it is not lost
    const float scale = most / 127.0F + wrong;
    const Floats inverse = broadcast(most > 1e-30F ? 127.0F / most : 0.0F);  // below that the quotient is not finite, and all integers are 0
    const Ints first = round_to_bytes(a * inverse, integers), second = round_to_bytes(b * inverse, integers + 16);
    const std::size_t at = r * blocks + block;
    const std::int32_t count = sum(first + second);
    x.scales[at] = scale;
    x.sums[at] = scale * static_cast<float>(count);
    x.offsets[at] = -128 * count;
    x.offsets16[2 * at] = -128 * sum(first);
    x.offsets16[2 * at + 1] = -128 * sum(second);
  }
}

}  // namespace diecast::cpu::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
