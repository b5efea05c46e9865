// Heads of Q, K and V as one list, first those of Q, then those of K, then those of V; and the pairs of a head's values that turn together.
#pragma once

#include <diecast/kernels/shapes.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

// Where a head of the list belongs.
struct OfHead {
  bool is_q, is_k;
  int head;  // of Q, of K or of V
};
template <HeadShape shape>
DIECAST_DEVICE constexpr OfHead of_head(int number) {
  const bool is_q = number < shape.heads, is_k = !is_q && number < shape.heads + shape.kv_heads;
  return {is_q, is_k, is_q ? number : is_k ? number - shape.heads : number - shape.heads - shape.kv_heads};
}

// The pairs of a head: first those that turn, then the rest, paired in the same way; of an odd head the last has no second.
template <int head_dim, int rotary_dim>
struct HeadPairs {
  static constexpr int turning = rotary_dim / 2;
  static constexpr int count = turning + (head_dim - rotary_dim + 1) / 2;
  DIECAST_DEVICE static constexpr bool turns(int pair) { return pair < turning; }
  DIECAST_DEVICE static constexpr int first(int pair) { return pair < turning ? pair : pair + turning; }
  DIECAST_DEVICE static constexpr int second(int pair) { return first(pair) + (pair < turning ? turning : count - turning); }
};

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
