// compiles
#include <diecast/kernels/rope_append.hpp>

using namespace diecast::kernels;
static_assert(RopeAppend<HeadShape{9, 3, 64}, RotaryDim{64}, float>::threads > 0);
