// The backend emulated of an engine, for the one unit that has its kernels (door.hpp).
#pragma once

#include <memory>

#include <diecast/cuda/door.hpp>
#include <diecast/cuda/emulated.hpp>

namespace diecast::cuda {

template <class Config>
std::shared_ptr<const DeviceBackend> open_emulated(const Weights& weights, const Ways& ways) {
  return std::make_shared<const Emulated<Config, kernels::Half>>(weights, EmulatedOptions{.rows = 64, .ways = ways});
}

}  // namespace diecast::cuda
