// expect: rotary_dim must not be larger than head_dim
#include <diecast/kernels/rope_append.hpp>

using namespace diecast::kernels;
static_assert(RopeAppend<HeadShape{9, 3, 64}, RotaryDim{66}, float>::threads > 0);
