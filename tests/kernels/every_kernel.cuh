// DIECAST_KERNELS(a list of operations) in a unit for nvcc has the kernel of each of them compiled: taking its address is what instantiates it.
#pragma once

#include <diecast/kernels/cuda_context.hpp>
#include <diecast/kernels/launched.hpp>

namespace diecast_test {

template <class... Op>
void take_addresses(void (**out)(), diecast::kernels::OperationList<Op...>) {
  ((*out++ = reinterpret_cast<void (*)()>(&diecast::kernels::entry<Op>)), ...);
}

}  // namespace diecast_test

#define DIECAST_KERNELS(...)           \
  void every_kernel(void (**out)());   \
  void every_kernel(void (**out)()) {  \
    diecast_test::take_addresses(out, __VA_ARGS__{}); \
  }
