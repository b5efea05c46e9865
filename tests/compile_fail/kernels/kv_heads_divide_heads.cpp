// expect: kv_heads must divide heads
#include <diecast/kernels/rope_append.hpp>

using namespace diecast::kernels;
static_assert(RopeAppend<HeadShape{9, 4, 64}, RotaryDim{64}, float>::threads > 0);
