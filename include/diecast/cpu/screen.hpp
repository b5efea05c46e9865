// A head that need not be read whole to find its best rows. Each 8-bit weight is 16 H + L, two nibbles. The high ones are a matrix of their own, and for
// every row and block the norm of the low ones is kept: by Cauchy and Schwarz, |low part of a logit| <= sum over blocks of |d L| |x|. A row whose high
// part plus this bound stays below the kth best exact logit is not among the k best; the others are computed, by the full head's own kernel.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <variant>

#include <diecast/cpu/pack.hpp>
#include <diecast/files/half.hpp>
#include <diecast/spec/spec.hpp>

namespace diecast::cpu {

inline constexpr Format high_format = Format::q4_0, norm_format = Format::f16;

struct Screen {
  PackedMatrix high;   // [vocab, hidden]; rows 0: the head is always read whole
  PackedMatrix norms;  // [vocab, hidden / 32] of the low nibbles, rounded up

  explicit operator bool() const { return high.rows > 0; }
};

// Whether a head has a screen: reading half of it must be worth the scattered rows that are read again, so it has to be large. On the heads measured
// some hundred to a thousand rows survive, each in a panel of its own: of 49,152 rows that saves nothing, of 151,936 and more it does.
// What changes logits after the product (a bias, a divisor, a soft cap) could make different ones equal.
constexpr bool has_screen(const Spec& spec, Format head) {
  constexpr int least_rows = 100'000;
  const bool bias = std::visit([](const auto& part) { return part.bias; }, spec.head);
  return head == Format::q8_0 && spec.vocab >= least_rows && !bias && !spec.logit_divisor && !spec.logit_soft_cap;
}

inline Screen screen_shape(const PackedMatrix& head) {
  return {{high_format, head.rows, head.cols, nullptr}, {norm_format, head.rows, head.cols / block_columns, nullptr}};
}

namespace detail {

// The least half that is not below a positive value. NaN stays NaN.
inline std::uint16_t half_above(double value) {
  std::uint16_t half = float_to_half(static_cast<float>(value));
  if (static_cast<double>(half_to_float(half)) < value) ++half;  // the greatest one becomes infinity
  return half;
}

}  // namespace detail

// How much a sum of `blocks` scaled products may be off, relative to the sum of their sizes: a rounding for each of scale, integer, product and sum.
inline double rounding(int blocks) { return (blocks + 4) * 0x1p-24 * 1.01; }

// Panels [first, last) of the screen of a head in Q8_0, into zeroed memory.
inline void fill_screen(const PackedMatrix& head, int first, int last, std::byte* high, std::byte* norms) {
  constexpr Form from = form_of(Format::q8_0), to = form_of(high_format);
  const int blocks = head.cols / block_columns;
  const double slack = rounding(blocks);
  for (int panel = first; panel < last; ++panel) {
    const auto at = static_cast<std::size_t>(panel);
    const std::byte* const source = head.data + at * head.panel_bytes();
    std::byte* const high_panel = high + at * to.panel_bytes(head.cols);
    std::byte* const norm_panel = norms + at * form_of(norm_format).panel_bytes(blocks);
    for (int block = 0; block < blocks; ++block)
      for (int row = 0; row < 16; ++row) {
        const auto b = static_cast<std::size_t>(block), lane = static_cast<std::size_t>(row);
        const std::byte* const integers = source + b * static_cast<std::size_t>(from.block_bytes());
        std::uint8_t nibbles[block_columns];
        double all = 0, upper = 0, lower = 0;
        for (int column = 0; column < block_columns; ++column) {
          const int weight = static_cast<int>(detail::packed_integer<from>(integers, lane, column)) - from.zero;
          const int h = (std::min)((weight + 8) >> 4, 7), l = weight - 16 * h;
          nibbles[column] = static_cast<std::uint8_t>(h + to.zero);
          all += weight * weight;
          upper += 256 * h * h;
          lower += l * l;
        }
        detail::put_block<to>(nibbles, row, high_panel + b * static_cast<std::size_t>(to.block_bytes()));
        const float scale = half_at(source + from.weight_bytes(head.cols) + b * from.scale_bytes(block_columns) + 2 * lane);
        const std::uint16_t sixteen = float_to_half(16 * scale);
        std::memcpy(high_panel + to.weight_bytes(head.cols) + b * to.scale_bytes(block_columns) + 2 * lane, &sixteen, 2);
        const bool exact = half_to_float(sixteen) == 16 * scale;  // not where it overflows: such a row is always computed
        const double bound = exact ? static_cast<double>(std::fabs(scale)) * (std::sqrt(lower) + slack * (std::sqrt(all) + std::sqrt(upper))) : std::numeric_limits<double>::infinity();
        const std::uint16_t norm = detail::half_above(bound);
        std::memcpy(norm_panel + 2 * (16 * b + lane), &norm, 2);
      }
  }
}

}  // namespace diecast::cpu
