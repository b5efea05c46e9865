// The execution context of a CUDA device, and the one entry through which every operation is launched.
// fma and sqrt are the correctly rounded intrinsics, so that the host executor's std::fma and std::sqrt give the same bits.
#pragma once

#ifndef __CUDACC__
#error "diecast/kernels/cuda_context.hpp is for nvcc: include it in a .cu file; the operations themselves need no CUDA"
#endif

#include <cstdint>

#include <diecast/kernels/context.hpp>

namespace diecast::kernels {

class CudaContext {
 public:
  __device__ int block() const { return static_cast<int>(blockIdx.x); }
  __device__ int thread() const { return static_cast<int>(threadIdx.x); }
  template <class T>
  __device__ T load(const T* from, std::int64_t index) const {
    return from[index];
  }
  template <class T>
  __device__ void store(T* to, std::int64_t index, T value) const {
    to[index] = value;
  }
  __device__ void barrier() const { __syncthreads(); }
  __device__ float shuffle_xor(float value, int lane_mask) const { return __shfl_xor_sync(0xffffffffu, value, lane_mask); }
  __device__ float fma(float a, float b, float c) const { return __fmaf_rn(a, b, c); }
  __device__ float sqrt(float x) const { return __fsqrt_rn(x); }
};

// Launch as entry<Op><<<blocks, Op::threads, 0, stream>>>(params). Shared memory does not grow with any length.
template <class Op>
__global__ void __launch_bounds__(Op::threads) entry(const __grid_constant__ typename Op::Params params) {
  __shared__ typename Op::Shared shared;
  CudaContext ctx;
  Op::run(ctx, params, shared);
}

}  // namespace diecast::kernels
