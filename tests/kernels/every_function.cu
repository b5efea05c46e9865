// Every function of the context, through nvcc and ptxas: what the assembler does not take is seen here.
#include <diecast/kernels/cuda_context.hpp>

#include "every_function.hpp"

void every_function(void (**entry)()) { *entry = reinterpret_cast<void (*)()>(&diecast::kernels::entry<diecast_test::EveryFunction>); }
