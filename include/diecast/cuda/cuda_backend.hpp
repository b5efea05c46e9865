// The backend cuda of an engine, for the one unit that has its kernels (door.hpp). For nvcc.
#pragma once

#ifndef __CUDACC__
#error "diecast/cuda/cuda_backend.hpp is for nvcc: host units take the backend through diecast/cuda/door.hpp"
#endif

#include <memory>

#include <diecast/cuda/cuda_device.hpp>
#include <diecast/cuda/device_backend.hpp>

namespace diecast::cuda {

inline constexpr int gpu_rows = 512;  // tokens of one pass

template <class Config>
std::shared_ptr<const DeviceBackend> open_cuda(const Weights& weights, const Ways& ways) {
  return std::make_shared<const BackendOn<Config, kernels::Half, gpu_team, CudaDevice>>(std::make_shared<CudaDevice>(), weights, gpu_rows, ways);
}

}  // namespace diecast::cuda
