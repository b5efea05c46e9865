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
};
struct RotaryDim {  // leading values of a head that turn
  int value;
};
enum class PositionScheme { absolute, rotary };

// Threads of a block that works on `width` values: enough to keep every warp busy, few enough for four blocks or more on an SM.
// Chosen by hand, not yet measured.
constexpr int block_threads(int width) { return width < 1024 ? 128 : 256; }

}  // namespace diecast::kernels
