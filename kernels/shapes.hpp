// The few numbers of a model that kernels are compiled for, each with a name of its own so that none stands in another's place.
// What only is a number at run time (epsilon, angles, lengths, strides) is a parameter, not a template argument.
#pragma once

namespace diecast::kernels {

struct Hidden {  // width of the hidden states
  int value;
};
struct HeadShape {
  int heads;
  int kv_heads;
  int head_dim;
  constexpr int group() const { return heads / kv_heads; }  // query heads that share a K/V head
};
struct RotaryDim {  // leading values of a head that turn; 0: none do
  int value;
};

// Heads that make sense, or a sentence that says why not: a static_assert of `ok` asks for it.
template <HeadShape shape, RotaryDim rotary = RotaryDim{0}>
struct Checked {
  static_assert(shape.heads > 0 && shape.kv_heads > 0 && shape.head_dim > 0, "heads, kv_heads and head_dim must be positive");
  static_assert(shape.heads % shape.kv_heads == 0, "kv_heads must divide heads");
  static_assert(rotary.value >= 0 && rotary.value % 2 == 0, "rotary_dim must be even");
  static_assert(rotary.value <= shape.head_dim, "rotary_dim must not be larger than head_dim");
  static constexpr bool ok = true;
};

constexpr int warps_of(int threads) { return threads / 32; }

// Who works: threads of a block, and how many token rows it takes at once, so that weights read once serve all of them.
struct Team {
  int threads;
  int tokens;
};

}  // namespace diecast::kernels
