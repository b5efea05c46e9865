// The execution context of a CUDA device (sm_80 and up), and the one entry through which every operation is launched.
// fma, sqrt and divide are the correctly rounded intrinsics, so that the host executor's give the same bits.
#pragma once

#ifndef __CUDACC__
#error "diecast/kernels/cuda_context.hpp is for nvcc: include it in a .cu file; the operations themselves need no CUDA"
#endif

#include <cstdint>
#include <type_traits>

#include <cub/block/block_scan.cuh>

#include <diecast/kernels/context.hpp>
#include <diecast/kernels/cuda_ptx.hpp>

namespace diecast::kernels {

class CudaContext {
 public:
  __device__ int block() const { return static_cast<int>(blockIdx.x); }
  __device__ int blocks() const { return static_cast<int>(gridDim.x); }
  __device__ int thread() const { return static_cast<int>(threadIdx.x); }
  __device__ int threads() const { return static_cast<int>(blockDim.x); }
  __device__ int lane() const { return static_cast<int>(threadIdx.x % 32u); }
  __device__ int warp() const { return static_cast<int>(threadIdx.x / 32u); }

  // A value of 16 or 8 bytes moves as one word of that size: a struct of smaller ones would be taken apart.
  template <class T>
  __device__ T load(const T* from, std::int64_t index) const {
    return as<T>(*reinterpret_cast<const Word<T>*>(from + index));
  }
  template <class T>
  __device__ void store(T* to, std::int64_t index, std::type_identity_t<T> value) const {
    *reinterpret_cast<Word<T>*>(to + index) = as<Word<T>>(value);
  }
  template <class T>
  __device__ T load_constant(const T* from, std::int64_t index) const {
    return as<T>(__ldg(reinterpret_cast<const Word<T>*>(from + index)));
  }
  template <class T>
  __device__ T load_once(const T* from, std::int64_t index) const {
    if constexpr (sizeof(T) >= 4)
      return as<T>(ptx::load_once(reinterpret_cast<const Word<T>*>(from + index)));
    else
      return as<T>(__ldcs(reinterpret_cast<const Word<T>*>(from + index)));
  }
  template <class T>
  __device__ void store_once(T* to, std::int64_t index, std::type_identity_t<T> value) const {
    __stcs(reinterpret_cast<Word<T>*>(to + index), as<Word<T>>(value));
  }
  template <class T>
  __device__ void prefetch(const T* from, std::int64_t index) const {
    ptx::prefetch(from + index);
  }

  template <class T>
  __device__ void copy_async(T* to, std::int64_t index, const T* from, std::int64_t from_index, bool valid = true) const {
    ptx::copy_async<static_cast<int>(sizeof(T))>(to + index, from + from_index, valid);
  }
  __device__ void commit_copies() const { ptx::commit_copies(); }
  template <int groups>
  __device__ void wait_copies(Pending<groups>) const {
    ptx::wait_copies<groups>();
  }

  __device__ void init_bulk(CopyBarrier* barrier, std::int64_t index, int copies) const { ptx::init_bulk(&barrier[index].word, copies); }
  template <class T>
  __device__ void copy_bulk(T* to, std::int64_t index, const T* from, std::int64_t from_index, int count, CopyBarrier* barrier,
                            std::int64_t barrier_index) const {
    ptx::copy_bulk(to + index, from + from_index, count * static_cast<int>(sizeof(T)), &barrier[barrier_index].word);
  }
  __device__ void wait_bulk(CopyBarrier* barrier, std::int64_t index, std::uint32_t phase) const {
    ptx::wait_bulk(&barrier[index].word, phase & 1u);
  }

  __device__ void barrier() const { __syncthreads(); }
  __device__ void named_barrier(int id, int threads) const { ptx::named_barrier(id, threads); }
  __device__ void named_arrive(int id, int threads) const { ptx::named_arrive(id, threads); }
  __device__ void sync_warp(std::uint32_t lanes = all_lanes) const { __syncwarp(lanes); }

  __device__ std::uint32_t load_acquire(const std::uint32_t* from, std::int64_t index) const { return ptx::load_acquire(from + index); }
  __device__ std::uint32_t load_relaxed(const std::uint32_t* from, std::int64_t index) const { return ptx::load_relaxed(from + index); }
  __device__ void store_release(std::uint32_t* to, std::int64_t index, std::uint32_t value) const { ptx::store_release(to + index, value); }
  __device__ void store_relaxed(std::uint32_t* to, std::int64_t index, std::uint32_t value) const { ptx::store_relaxed(to + index, value); }
  __device__ std::uint32_t atomic_add(std::uint32_t* to, std::int64_t index, std::uint32_t value, Order order = Order::relaxed) const {
    return ptx::atomic_add(to + index, value, order);
  }
  __device__ float atomic_add(float* to, std::int64_t index, float value) const { return atomicAdd(to + index, value); }
  __device__ std::uint64_t atomic_max(std::uint64_t* to, std::int64_t index, std::uint64_t value) const {
    return atomicMax(reinterpret_cast<unsigned long long*>(to + index), static_cast<unsigned long long>(value));
  }
  __device__ std::uint32_t atomic_exchange(std::uint32_t* to, std::int64_t index, std::uint32_t value, Order order = Order::relaxed) const {
    return ptx::atomic_exchange(to + index, value, order);
  }
  __device__ std::uint32_t atomic_compare_exchange(std::uint32_t* to, std::int64_t index, std::uint32_t expected, std::uint32_t wanted,
                                                   Order order = Order::relaxed) const {
    return ptx::atomic_compare_exchange(to + index, expected, wanted, order);
  }
  __device__ void wait_at_least(const std::uint32_t* flag, std::int64_t index, std::uint32_t target) const {
    while (static_cast<std::int32_t>(load_acquire(flag, index) - target) < 0) __nanosleep(20);
  }

  template <class T>
  __device__ T shuffle(T value, int from, std::uint32_t lanes = all_lanes) const {
    return as<T>(__shfl_sync(lanes, as<Bits<T>>(value), from));
  }
  template <class T>
  __device__ T shuffle_xor(T value, int with, std::uint32_t lanes = all_lanes) const {
    return as<T>(__shfl_xor_sync(lanes, as<Bits<T>>(value), with));
  }
  template <class T>
  __device__ T shuffle_down(T value, int by, std::uint32_t lanes = all_lanes) const {
    return as<T>(__shfl_down_sync(lanes, as<Bits<T>>(value), static_cast<unsigned>(by)));
  }
  template <class T>
  __device__ T shuffle_up(T value, int by, std::uint32_t lanes = all_lanes) const {
    return as<T>(__shfl_up_sync(lanes, as<Bits<T>>(value), static_cast<unsigned>(by)));
  }
  __device__ std::uint32_t ballot(bool yes, std::uint32_t lanes = all_lanes) const { return __ballot_sync(lanes, yes); }
  __device__ bool any(bool yes, std::uint32_t lanes = all_lanes) const { return __any_sync(lanes, yes) != 0; }
  __device__ bool all(bool yes, std::uint32_t lanes = all_lanes) const { return __all_sync(lanes, yes) != 0; }
  __device__ float warp_sum(float value) const {
    for (int with = warp_lanes / 2; with > 0; with /= 2) value += shuffle_xor(value, with);
    return value;
  }
  __device__ float warp_max(float value) const {
    for (int with = warp_lanes / 2; with > 0; with /= 2) value = fmaxf(value, shuffle_xor(value, with));
    return value;
  }
  __device__ int warp_sum(int value) const { return __reduce_add_sync(all_lanes, value); }

  template <int block_threads>
  __device__ BlockScan block_scan(std::uint64_t value, BlockScratch<block_threads>& scratch) const {
    using Scan = cub::BlockScan<unsigned long long, block_threads, cub::BLOCK_SCAN_WARP_SCANS>;
    static_assert(sizeof(typename Scan::TempStorage) <= sizeof(scratch.words), "the scratch of a block has room for what CUB wants");
    unsigned long long before, all;
    Scan(*reinterpret_cast<typename Scan::TempStorage*>(scratch.words)).ExclusiveSum(static_cast<unsigned long long>(value), before, all);
    __syncthreads();
    return {before, all};
  }

  __device__ FourMatrices load_matrices(const Half* row, std::int64_t index) const { return ptx::load_matrices(row + index); }
  __device__ FourMatrices load_matrices(const Bfloat16* row, std::int64_t index) const { return ptx::load_matrices(row + index); }
  __device__ FourMatrices load_matrices(const std::int8_t* row, std::int64_t index) const { return ptx::load_matrices(row + index); }
  __device__ FourMatrices load_matrices_transposed(const Half* row, std::int64_t index) const {
    return ptx::load_matrices_transposed(row + index);
  }
  __device__ FourMatrices load_matrices_transposed(const Bfloat16* row, std::int64_t index) const {
    return ptx::load_matrices_transposed(row + index);
  }
  template <class Element, class Sum>
  __device__ FragmentC<Sum> multiply_add(const FragmentA<Element>& a, const FragmentB<Element>& b, FragmentC<Sum> c) const {
    ptx::multiply_add(a, b, c);
    return c;
  }

  __device__ float fma(float a, float b, float c) const { return __fmaf_rn(a, b, c); }
  __device__ float sqrt(float x) const { return __fsqrt_rn(x); }
  __device__ float divide(float a, float b) const { return __fdiv_rn(a, b); }
  __device__ float exp2(float x) const { return ptx::exp2(x); }
  __device__ float rsqrt(float x) const { return ptx::rsqrt(x); }
  __device__ float tanh(float x) const { return tanhf(x); }
  __device__ float widen(float x) const { return x; }
  __device__ float widen(Half x) const { return ptx::widen(x); }
  __device__ float widen(Bfloat16 x) const { return to_float(x); }
  __device__ float narrow(float x, float) const { return x; }
  __device__ Half narrow(float x, Half) const { return ptx::narrow_to_half(x); }
  __device__ Bfloat16 narrow(float x, Bfloat16) const { return ptx::narrow_to_bfloat16(x); }
  __device__ std::int32_t round(float x) const { return __float2int_rn(x); }
  __device__ std::int32_t dot4(std::int32_t a, std::int32_t b, std::int32_t c) const { return __dp4a(a, b, c); }
  __device__ std::int32_t dot4(std::uint32_t a, std::int32_t b, std::int32_t c) const { return ptx::dot4(a, b, c); }
  __device__ int popcount(std::uint32_t x) const { return __popc(x); }
  __device__ int lowest_bit(std::uint32_t x) const { return x == 0 ? 32 : __ffs(static_cast<int>(x)) - 1; }
  __device__ std::uint32_t permute_bytes(std::uint32_t low, std::uint32_t high, std::uint32_t selector) const {
    return __byte_perm(low, high, selector);
  }

 private:
  template <class T>
  using Word = std::conditional_t<
      sizeof(T) == 16, uint4,
      std::conditional_t<sizeof(T) == 8, uint2,
                         std::conditional_t<sizeof(T) == 4, unsigned, std::conditional_t<sizeof(T) == 2, unsigned short, unsigned char>>>>;
  template <class T>
  using Bits = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;

  template <class To, class From>
  __device__ static To as(const From& value) {
    static_assert(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<To> && std::is_trivially_copyable_v<From>,
                  "a lane moves trivial values of 1, 2, 4, 8 or 16 bytes");
    return __builtin_bit_cast(To, value);
  }
};
static_assert(ExecutionContext<CudaContext>);

inline constexpr std::size_t static_shared_bytes = 48 * 1024;

// Launch as entry<Op><<<blocks, Op::threads, dynamic_shared_bytes<Op>, stream>>>(params); above 48 KiB after cudaFuncSetAttribute has
// asked for it.
template <class Op>
inline constexpr std::size_t dynamic_shared_bytes = sizeof(typename Op::Shared) > static_shared_bytes ? sizeof(typename Op::Shared) : 0;

// One block an SM is what plans ask for (include/diecast/cuda/plan.hpp), so that a block may have all registers: left to choose, the compiler would spill instead.
template <class Op>
__global__ void __launch_bounds__(Op::threads, 1) entry(const __grid_constant__ typename Op::Params params) {
  CudaContext ctx;
  if constexpr (dynamic_shared_bytes<Op> == 0) {
    __shared__ typename Op::Shared shared;
    Op::run(ctx, params, shared);
  } else {
    extern __shared__ __align__(128) unsigned char shared_bytes[];
    ptx::note_dynamic_shared_bytes<static_cast<int>(dynamic_shared_bytes<Op>)>();
    Op::run(ctx, params, *reinterpret_cast<typename Op::Shared*>(shared_bytes));
  }
}

}  // namespace diecast::kernels
