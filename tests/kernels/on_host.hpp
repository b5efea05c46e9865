// What the tests of kernels share: buffers in the memory of the host executor, read by index, and launches on it.
#pragma once

#include <string>
#include <vector>

#include <diecast/simt/launch.hpp>

namespace diecast_test {

inline diecast::simt::Memory& memory() {
  static diecast::simt::Memory one;
  return one;
}

// Values that a kernel may write; unwritten at first where only a size is given.
template <class T>
class Values {
 public:
  explicit Values(int size) : buffer_(memory(), "values", static_cast<std::size_t>(size)) {}
  explicit Values(const std::vector<T>& from) : buffer_(memory(), "values", from) {}
  T* data() const { return buffer_.data(); }
  int size() const { return static_cast<int>(buffer_.size()); }
  std::vector<T> all() const { return buffer_.values(); }
  std::size_t unwritten() const { return buffer_.unwritten(); }  // bytes
  T operator[](int i) const {
    T value;
    memory().download(&value, buffer_.data() + i, sizeof value);
    return value;
  }

 private:
  diecast::simt::Buffer<T> buffer_;
};
using Floats = Values<float>;

// Values that no kernel writes.
template <class T>
class Constants {
 public:
  explicit Constants(const std::vector<T>& from) : buffer_(memory(), "constants", from, true) {}
  const T* data() const { return buffer_.data(); }

 private:
  diecast::simt::Buffer<T> buffer_;
};

// Under every schedule, races watched: results must be the same bits.
template <class Op>
void launch(int blocks, const typename Op::Params& params) {
  diecast::simt::agree<Op>(memory(), blocks, params);
}
// Once, races watched: for sweeps over many shapes.
template <class Op>
void launch_once(int blocks, const typename Op::Params& params) {
  diecast::simt::launch<Op>(memory(), blocks, params);
}

}  // namespace diecast_test
