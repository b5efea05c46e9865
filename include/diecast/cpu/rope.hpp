// Turning Q and K. Angles are computed in double, as the reference does it, once for each position of a call and each kind of layer.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include <diecast/cpu/lanes.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::cpu::inline DIECAST_ISA {

// Cosines, then sines: [2][frequencies], each stretched.
inline void turns(std::span<const double> frequencies, double stretch, int position, float* out) {
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double angle = position * frequencies[i];
    out[i] = static_cast<float>(stretch * std::cos(angle));
    out[frequencies.size() + i] = static_cast<float>(stretch * std::sin(angle));
  }
}

// Pairs (i, i + half) of one head, in place.
inline void rotate(float* head, const float* turn, int half) {
  for (int i = 0; i < half; i += lanes) {
    const Floats a = load_tail(head + i, half - i), b = load_tail(head + half + i, half - i);
    const Floats cosine = load_tail(turn + i, half - i), sine = load_tail(turn + half + i, half - i);
    const Floats zero = broadcast(0.0F);
    store_tail(head + i, fma(a, cosine, zero - b * sine), half - i);
    store_tail(head + half + i, fma(b, cosine, a * sine), half - i);
  }
}

}  // namespace diecast::cpu::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
