// The backend `emulated`: the host code of a GPU, with the host executor (diecast/simt) in the GPU's place. It answers slowly, and every
// access of every kernel is watched. Link diecast::simt.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <diecast/backend/backend.hpp>
#include <diecast/cuda/device_context.hpp>
#include <diecast/cuda/device_weights.hpp>
#include <diecast/cuda/shape_of.hpp>
#include <diecast/simt/launch.hpp>
#include <diecast/spec/check.hpp>

namespace diecast {

namespace cuda {

class EmulatedDevice {
 public:
  explicit EmulatedDevice(const simt::Options& options) : options_(options) {}

  template <class T>
  T* allocate(const std::string& name, std::size_t count) {
    return static_cast<T*>(memory_.allocate(count * sizeof(T), name, sizeof(T)));
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
  simt::Options options_;
};

}  // namespace cuda

struct EmulatedOptions {
  int processors = 2;  // blocks that a launch has at most: as a GPU with so many SMs
  int rows = 16;       // tokens of one pass
  cuda::Ways ways{};
  simt::Options launch{.races = false};
};

// Config: name, spec, formats, as the files in configs/ have them.
template <class Config, class CacheElement = float, kernels::Team team = kernels::Team{64, 4}>
class Emulated final : public Backend {
 public:
  static constexpr kernels::ModelShape shape = cuda::shape_of(Config::spec, Config::formats, team);

  explicit Emulated(const Weights& weights, EmulatedOptions options = {})
      : options_(options),
        spec_(std::make_shared<const Spec>(Config::spec)),
        device_(std::make_shared<cuda::EmulatedDevice>(options.launch)) {
    check_file(*spec_);
    weights_ = std::make_shared<const cuda::DeviceWeights<cuda::EmulatedDevice>>(device_, *spec_, weights, shape.forms);
  }

  std::string_view name() const override { return "emulated"; }
  const Spec& spec() const override { return *spec_; }
  using DeviceContext = cuda::DeviceContext<shape, CacheElement, cuda::EmulatedDevice>;
  std::unique_ptr<Context> open(int tokens) const override { return open_device(tokens); }
  std::unique_ptr<DeviceContext> open_device(int tokens) const {
    return std::make_unique<DeviceContext>(device_, spec_, weights_, cuda::Capacity{options_.processors, options_.rows, 0}, tokens,
                                           options_.ways);
  }

 private:
  EmulatedOptions options_;
  std::shared_ptr<const Spec> spec_;
  std::shared_ptr<cuda::EmulatedDevice> device_;
  std::shared_ptr<const cuda::DeviceWeights<cuda::EmulatedDevice>> weights_;
};

}  // namespace diecast
