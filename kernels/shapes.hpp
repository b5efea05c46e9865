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

constexpr int warps_of(int threads) { return threads / 32; }

// Who works: threads of a block, and how many token rows it takes at once, so that weights read once serve all of them.
struct Team {
  int threads;
  int tokens;
};

}  // namespace diecast::kernels
