// expect: kv_heads must divide heads
#include <diecast/kernels/qkv_append.hpp>

using namespace diecast::kernels;
using Op = QkvAppend<Hidden{576}, HeadShape{9, 4, 64}, RotaryDim{64}, Prologue{NormKind::rms, false, NormKind::rms}, forms(f16_form), Half, Team{128, 1}>;
static_assert(Op::threads > 0);
