// The same as on_host.hpp for a GPU, so that nvcc makes tests of the device of the very same cases (on_device.cmake).
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <diecast/cuda/cuda_device.hpp>
#include <diecast/cuda/device_array.hpp>

namespace diecast_test {

using Gpu = diecast::cuda::CudaDevice;

inline const std::shared_ptr<Gpu>& gpu() {
  static const std::shared_ptr<Gpu> one = std::make_shared<Gpu>();
  return one;
}

class GpuMemory {
 public:
  void upload(void* to, const void* from, std::size_t bytes) {
    gpu()->upload(static_cast<std::byte*>(to), std::span<const std::byte>(static_cast<const std::byte*>(from), bytes));
  }
};
inline GpuMemory& memory() {
  static GpuMemory one;
  return one;
}

// Values that a kernel may write; a size alone: every byte is 0xff at first, which is NaN in every float format, as the host executor gives what is unwritten.
template <class T>
class Values {
 public:
  explicit Values(int size) : array_(gpu(), "values", static_cast<std::size_t>(size)) {
    const std::vector<std::byte> unwritten(array_.size() * sizeof(T), std::byte{0xff});
    memory().upload(array_.data(), unwritten.data(), unwritten.size());
  }
  explicit Values(const std::vector<T>& from) : array_(gpu(), "values", std::span<const T>(from)) {}
  T* data() const { return array_.data(); }
  int size() const { return static_cast<int>(array_.size()); }
  std::vector<T> all() const {
    std::vector<T> values(array_.size());
    array_.read(values);
    return values;
  }
  std::size_t unwritten() const {  // bytes of values that are as they were at first
    std::size_t bytes = 0;
    for (const T& value : all()) {
      const auto* const at = reinterpret_cast<const unsigned char*>(&value);
      bytes += std::all_of(at, at + sizeof value, [](unsigned char byte) { return byte == 0xff; }) ? sizeof value : 0;
    }
    return bytes;
  }
  T operator[](int i) const {
    T value;
    array_.read(std::span<T>(&value, 1), static_cast<std::size_t>(i));
    return value;
  }

 private:
  diecast::cuda::DeviceArray<T, Gpu> array_;
};
using Floats = Values<float>;

template <class T>
class Constants {
 public:
  explicit Constants(const std::vector<T>& from) : array_(gpu(), "constants", std::span<const T>(from)) {}
  const T* data() const { return array_.data(); }

 private:
  diecast::cuda::DeviceArray<T, Gpu> array_;
};

template <class Op>
void launch_once(int blocks, const typename Op::Params& params) {
  gpu()->launch<Op>(blocks, params);
}
// A GPU has the schedule that it has.
template <class Op>
void launch(int blocks, const typename Op::Params& params) {
  launch_once<Op>(blocks, params);
}

}  // namespace diecast_test
