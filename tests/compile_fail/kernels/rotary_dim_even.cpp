// expect: rotary_dim must be even and positive
#include <diecast/kernels/rope_append.hpp>

using namespace diecast::kernels;
static_assert(RopeAppend<HeadShape{9, 3, 65}, RotaryDim{65}, float>::threads > 0);
