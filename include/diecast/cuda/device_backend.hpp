// The backend of one model on one device: its weights there, and contexts that share them. Which device it is, a GPU or the host executor, is a template
// argument (device_array.hpp says what that must have); everything else is the same code.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include <diecast/cuda/device_context.hpp>
#include <diecast/cuda/device_weights.hpp>
#include <diecast/cuda/door.hpp>
#include <diecast/cuda/shape_of.hpp>
#include <diecast/spec/check.hpp>

namespace diecast::cuda {

// Config: name, spec, formats, as the files in configs/ have them.
template <class Config, class CacheElement, kernels::Team team, class Device>
class BackendOn : public DeviceBackend {
 public:
  static constexpr kernels::ModelShape shape = shape_of(Config::spec, Config::formats, team);
  using Context = cuda::DeviceContext<shape, CacheElement, Device>;

  // rows: tokens of one pass.
  BackendOn(std::shared_ptr<Device> device, const Weights& weights, int rows, Ways ways)
      : device_(std::move(device)), rows_(rows), ways_(ways), spec_(std::make_shared<const Spec>(Config::spec)) {
    check_file(*spec_);
    weights_ = std::make_shared<const DeviceWeights<Device>>(device_, *spec_, weights, shape.forms);
  }

  std::string_view name() const override { return Device::name; }
  const Spec& spec() const override { return *spec_; }
  std::unique_ptr<diecast::Context> open(int tokens) const override { return open_device(tokens); }
  std::unique_ptr<OnDevice> open_on_device(int tokens) const override { return open_device(tokens); }
  std::unique_ptr<Context> open_device(int tokens) const {
    return std::make_unique<Context>(device_, spec_, weights_, Capacity{device_->processors(), rows_, 0}, tokens, ways_);
  }
  std::size_t step_bytes() const override { return weights_->step_bytes(); }

 private:
  std::shared_ptr<Device> device_;
  int rows_;
  Ways ways_;
  std::shared_ptr<const Spec> spec_;
  std::shared_ptr<const DeviceWeights<Device>> weights_;
};

}  // namespace diecast::cuda
