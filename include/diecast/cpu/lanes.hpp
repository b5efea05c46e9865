// Sixteen numbers at a time: the one vocabulary that all CPU kernels are written in. Four instruction sets speak it, each in its own
// file: AVX-512 with VNNI, AVX2 with FMA, NEON, and plain C++. A kernel is written once; sums are taken in the same order on all of them.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <diecast/cpu/lanes_avx2.hpp>
#include <diecast/cpu/lanes_avx512.hpp>
#include <diecast/cpu/lanes_neon.hpp>
#include <diecast/cpu/lanes_portable.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::cpu::inline DIECAST_ISA {

inline constexpr int lanes = 16;
constexpr int groups_of(int values) { return (values + lanes - 1) / lanes; }
constexpr int round_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

// f(0), f(1), ... f(Count - 1), each with its number as a constant: what must be registers is never an array in memory.
template <std::size_t Count, class F>
[[gnu::always_inline]] inline void unrolled(const F& f) {
  [&]<std::size_t... Number>(std::index_sequence<Number...>) __attribute__((always_inline)) { (f(std::integral_constant<std::size_t, Number>()), ...); }
  (std::make_index_sequence<Count>());
}

// The last, incomplete vector of a row is loaded with zeros behind it.
inline Floats load_tail(const float* at, int left) { return left >= lanes ? load(at) : load_first(at, left); }
inline void store_tail(float* at, Floats x, int left) {
  if (left >= lanes) store(at, x);
  else store_first(at, x, left);
}

}  // namespace diecast::cpu::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
