// Memory of a device that lives as long as this object. A device is a class with
//   T* allocate<T>(name, count), release(T*), upload(T*, span), download(T*, span), and launch<Op>(blocks, params)
// of which there are two: a GPU, and the host executor (emulated.hpp).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace diecast::cuda {

template <class T, class Device>
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(std::shared_ptr<Device> device, const std::string& name, std::size_t count)
      : device_(std::move(device)), size_(count), data_(count == 0 ? nullptr : device_->template allocate<T>(name, count)) {}
  DeviceArray(std::shared_ptr<Device> device, const std::string& name, std::span<const T> values)
      : DeviceArray(std::move(device), name, values.size()) {
    write(values);
  }
  DeviceArray(DeviceArray&& other) noexcept
      : device_(std::move(other.device_)), size_(std::exchange(other.size_, 0)), data_(std::exchange(other.data_, nullptr)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(size_, other.size_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~DeviceArray() {
    if (data_ != nullptr) device_->release(data_);
  }

  T* data() const { return data_; }  // an address on the device; null where there is nothing
  std::size_t size() const { return size_; }
  void write(std::span<const T> values, std::size_t at = 0) {
    if (!values.empty()) device_->upload(data_ + at, values);
  }
  void read(std::span<T> values, std::size_t at = 0) const {
    if (!values.empty()) device_->download(data_ + at, values);
  }

 private:
  std::shared_ptr<Device> device_;
  std::size_t size_ = 0;
  T* data_ = nullptr;
};

}  // namespace diecast::cuda
