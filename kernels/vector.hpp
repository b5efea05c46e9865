// Several neighbouring values that move in one access: Vector<Half, 8> is one 16-byte load of a lane. An array of float is read as
// vectors by as_vectors<4>(p), whose index counts vectors; the address must be a multiple of the vector's size, which the host
// executor checks.
#pragma once

#include <cstdint>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

template <class T, int count>
struct alignas(sizeof(T) * count) Vector {
  static_assert(count > 0 && (count & (count - 1)) == 0 && sizeof(T) * count <= 16, "a lane moves 1, 2, 4, 8 or 16 bytes at a time");
  T at[count];
};

template <int count, class T>
DIECAST_DEVICE const Vector<T, count>* as_vectors(const T* values) {
  return reinterpret_cast<const Vector<T, count>*>(values);
}
template <int count, class T>
DIECAST_DEVICE Vector<T, count>* as_vectors(T* values) {
  return reinterpret_cast<Vector<T, count>*>(values);
}

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
