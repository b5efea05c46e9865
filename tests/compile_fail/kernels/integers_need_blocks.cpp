// expect: weights of integers need a width that is a multiple of 32
#include <diecast/kernels/linear_residual.hpp>

using namespace diecast::kernels;
using Op = LinearResidual<Extents{8, 48}, Ending::add, forms(q8_0_form), Team{128, 1}>;
static_assert(sizeof(Op::Shared) > 0);
