// RMSNorm and LayerNorm of one row. The sums take sixteen lanes side by side and are put together in one order.
#pragma once

#include <cmath>
#include <cstddef>

#include <diecast/cpu/lanes.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::cpu::inline DIECAST_ISA {

// y may be x. What lies behind `size` is not written.
inline void rms_norm(const float* x, const float* weight, float epsilon, int size, float* y) {
  Floats squares = broadcast(0.0F);
  for (int i = 0; i < size; i += lanes) {
    const Floats a = load_tail(x + i, size - i);
    squares = fma(a, a, squares);
  }
  const Floats scale = broadcast(1.0F / std::sqrt(sum(squares) / static_cast<float>(size) + epsilon));
  for (int i = 0; i < size; i += lanes) store_tail(y + i, load_tail(x + i, size - i) * scale * load_tail(weight + i, size - i), size - i);
}

// bias may be null.
inline void layer_norm(const float* x, const float* weight, const float* bias, float epsilon, int size, float* y) {
  Floats total = broadcast(0.0F);
  for (int i = 0; i < size; i += lanes) total = total + load_tail(x + i, size - i);
  const Floats mean = broadcast(sum(total) / static_cast<float>(size));
  Floats squares = broadcast(0.0F);
  for (int i = 0; i < size; i += lanes) {
    const Floats a = within(0, size - i < lanes ? size - i : lanes, load_tail(x + i, size - i) - mean, broadcast(0.0F));
    squares = fma(a, a, squares);
  }
  const Floats scale = broadcast(1.0F / std::sqrt(sum(squares) / static_cast<float>(size) + epsilon));
  for (int i = 0; i < size; i += lanes) {
    const Floats a = (load_tail(x + i, size - i) - mean) * scale * load_tail(weight + i, size - i);
    store_tail(y + i, bias ? a + load_tail(bias + i, size - i) : a, size - i);
  }
}

}  // namespace diecast::cpu::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
