// The backend `emulated`: the host code of a GPU, with the host executor (diecast/simt) in the GPU's place. It answers slowly, and every
// access of every kernel is watched. Link diecast::simt.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <diecast/cuda/device_backend.hpp>
#include <diecast/simt/launch.hpp>

namespace diecast {

namespace cuda {

class EmulatedDevice {
 public:
  static constexpr std::string_view name = "emulated";

  EmulatedDevice(int processors, const simt::Options& options) : processors_(processors), options_(options) {}

  int processors() const { return processors_; }
  template <class T>
  T* allocate(const std::string& buffer, std::size_t count) {
    return static_cast<T*>(memory_.allocate(count * sizeof(T), buffer, sizeof(T)));
  }
  template <class T>
  void release(T* data) {
    memory_.release(const_cast<std::remove_const_t<T>*>(data));
  }
  template <class T>
  void upload(T* to, std::span<const T> values) {
    memory_.upload(to, values.data(), values.size_bytes());
  }
  template <class T>
  void download(const T* from, std::span<T> values) {
    memory_.download(values.data(), from, values.size_bytes());
  }
  template <class Op>
  void launch(int blocks, const typename Op::Params& params) {
    simt::launch<Op>(memory_, blocks, params, options_);
  }

 private:
  simt::Memory memory_;
  int processors_;
  simt::Options options_;
};

}  // namespace cuda

struct EmulatedOptions {
  int processors = 2;  // blocks that a launch has at most: as a GPU with so many SMs
  int rows = 16;       // tokens of one pass
  cuda::Ways ways{};
  simt::Options launch{.races = false};
};

template <class Config, class CacheElement = float, kernels::Team team = kernels::Team{64, 4}>
class Emulated final : public cuda::BackendOn<Config, CacheElement, team, cuda::EmulatedDevice> {
 public:
  explicit Emulated(const Weights& weights, EmulatedOptions options = {})
      : cuda::BackendOn<Config, CacheElement, team, cuda::EmulatedDevice>(
            std::make_shared<cuda::EmulatedDevice>(options.processors, options.launch), weights, options.rows, options.ways) {}
};

}  // namespace diecast
