// Plain data of any size from global memory, eight bytes at a time: parameters of operations that a kernel goes through in a loop.
#pragma once

#include <cstdint>
#include <type_traits>

#include <diecast/kernels/context.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

template <class T, ExecutionContext C>
DIECAST_DEVICE T load_struct(C& ctx, const T* from) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 8 == 0 && alignof(T) == 8, "parameters are whole words of eight bytes");
  struct Bytes {
    std::uint64_t at[sizeof(T) / 8];
  } bytes;
  DIECAST_UNROLL
  for (int i = 0; i < static_cast<int>(sizeof(T) / 8); ++i)
    bytes.at[i] = ctx.load_constant(reinterpret_cast<const std::uint64_t*>(from), i);
  return __builtin_bit_cast(T, bytes);
}

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
