// The instructions that C++ has no words for, one function each; all PTX of the project is here, and each has its twin in the host
// executor (include/diecast/simt/context.hpp). For sm_80 and up. Source: NVIDIA, PTX ISA 8.x. Addresses of global memory are taken as
// generic ones, which are the same; those of shared memory are converted.
#pragma once

#ifndef __CUDACC__
#error "diecast/kernels/cuda_ptx.hpp is for nvcc: include it in a .cu file; the operations themselves need no CUDA"
#endif

#include <cstdint>
#include <cstring>

#include <diecast/kernels/context.hpp>

namespace diecast::kernels::ptx {

__device__ inline unsigned shared_address(const void* address) { return static_cast<unsigned>(__cvta_generic_to_shared(address)); }

// Read through the non-coherent path, first to leave the caches: 16 bytes a lane, or 8, 4.
__device__ inline uint4 load_once(const uint4* from) {
  uint4 value;
  asm("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
      : "l"(from));
  return value;
}
__device__ inline uint2 load_once(const uint2* from) {
  uint2 value;
  asm("ld.global.nc.L1::no_allocate.L2::128B.v2.u32 {%0, %1}, [%2];" : "=r"(value.x), "=r"(value.y) : "l"(from));
  return value;
}
__device__ inline unsigned load_once(const unsigned* from) {
  unsigned value;
  asm("ld.global.nc.L1::no_allocate.L2::128B.u32 %0, [%1];" : "=r"(value) : "l"(from));
  return value;
}
// Nothing but a comment in the PTX: what a launch asks for beyond the compiled code, for those who read it (tools/kernel_resources.py).
template <int bytes>
__device__ inline void note_dynamic_shared_bytes() {
  asm volatile("// dynamic_shared_bytes %0" ::"n"(bytes));
}

__device__ inline void prefetch(const void* address) { asm volatile("prefetch.global.L2 [%0];" ::"l"(address)); }

template <int bytes>
__device__ inline void copy_async(void* to, const void* from, bool valid) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "an asynchronous copy moves 4, 8 or 16 bytes");
  const int read = valid ? bytes : 0;  // what is not read is filled with zeros
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(read) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(to)), "l"(from), "n"(bytes), "r"(read) : "memory");
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int groups>
__device__ inline void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
}

// Barriers of bulk copies. Before sm_90, which has no bulk copies, the one thread copies piece by piece, and its last piece arrives at the barrier.
__device__ inline void init_bulk(std::uint64_t* barrier, int copies) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(copies) : "memory");
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}
__device__ inline void copy_bulk(void* to, const void* from, int bytes, std::uint64_t* barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
#else
  for (int i = 0; i < bytes; i += 16) copy_async<16>(static_cast<char*>(to) + i, static_cast<const char*>(from) + i, true);
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
#endif
}
__device__ inline void wait_bulk(std::uint64_t* barrier, unsigned parity) {
  unsigned over;
  do {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("{\n.reg .pred over;\nmbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\nselp.u32 %0, 1, 0, over;\n}"
#else
    asm volatile("{\n.reg .pred over;\nmbarrier.test_wait.parity.shared.b64 over, [%1], %2;\nselp.u32 %0, 1, 0, over;\n}"
#endif
                 : "=r"(over)
                 : "r"(shared_address(barrier)), "r"(parity)
                 : "memory");
  } while (over == 0);
}

__device__ inline void named_barrier(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
__device__ inline void named_arrive(int id, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory"); }

__device__ inline std::uint32_t load_acquire(const std::uint32_t* from) {
  std::uint32_t value;
  asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}
__device__ inline std::uint32_t load_relaxed(const std::uint32_t* from) {
  std::uint32_t value;
  asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}
__device__ inline void store_release(std::uint32_t* to, std::uint32_t value) {
  asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}
__device__ inline void store_relaxed(std::uint32_t* to, std::uint32_t value) {
  asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

// `order` is a constant at every call, so one branch is left of each.
__device__ inline std::uint32_t atomic_add(std::uint32_t* to, std::uint32_t value, Order order) {
  std::uint32_t before;
  if (order == Order::relaxed) asm volatile("atom.relaxed.gpu.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(to), "r"(value) : "memory");
  if (order == Order::acquire) asm volatile("atom.acquire.gpu.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(to), "r"(value) : "memory");
  if (order == Order::release) asm volatile("atom.release.gpu.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(to), "r"(value) : "memory");
  if (order == Order::acquire_release)
    asm volatile("atom.acq_rel.gpu.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(to), "r"(value) : "memory");
  return before;
}
__device__ inline std::uint32_t atomic_exchange(std::uint32_t* to, std::uint32_t value, Order order) {
  std::uint32_t before;
  if (order == Order::relaxed) asm volatile("atom.relaxed.gpu.exch.b32 %0, [%1], %2;" : "=r"(before) : "l"(to), "r"(value) : "memory");
  if (order == Order::acquire) asm volatile("atom.acquire.gpu.exch.b32 %0, [%1], %2;" : "=r"(before) : "l"(to), "r"(value) : "memory");
  if (order == Order::release) asm volatile("atom.release.gpu.exch.b32 %0, [%1], %2;" : "=r"(before) : "l"(to), "r"(value) : "memory");
  if (order == Order::acquire_release)
    asm volatile("atom.acq_rel.gpu.exch.b32 %0, [%1], %2;" : "=r"(before) : "l"(to), "r"(value) : "memory");
  return before;
}
__device__ inline std::uint32_t atomic_compare_exchange(std::uint32_t* to, std::uint32_t expected, std::uint32_t wanted, Order order) {
  std::uint32_t before;
  if (order == Order::relaxed)
    asm volatile("atom.relaxed.gpu.cas.b32 %0, [%1], %2, %3;" : "=r"(before) : "l"(to), "r"(expected), "r"(wanted) : "memory");
  if (order == Order::acquire)
    asm volatile("atom.acquire.gpu.cas.b32 %0, [%1], %2, %3;" : "=r"(before) : "l"(to), "r"(expected), "r"(wanted) : "memory");
  if (order == Order::release)
    asm volatile("atom.release.gpu.cas.b32 %0, [%1], %2, %3;" : "=r"(before) : "l"(to), "r"(expected), "r"(wanted) : "memory");
  if (order == Order::acquire_release)
    asm volatile("atom.acq_rel.gpu.cas.b32 %0, [%1], %2, %3;" : "=r"(before) : "l"(to), "r"(expected), "r"(wanted) : "memory");
  return before;
}

// Volatile: a load of shared memory must not move across a barrier.
__device__ inline FourMatrices load_matrices(const void* row) {
  FourMatrices m;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m.at[0]), "=r"(m.at[1]), "=r"(m.at[2]), "=r"(m.at[3])
               : "r"(shared_address(row))
               : "memory");
  return m;
}
__device__ inline FourMatrices load_matrices_transposed(const void* row) {
  FourMatrices m;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m.at[0]), "=r"(m.at[1]), "=r"(m.at[2]), "=r"(m.at[3])
               : "r"(shared_address(row))
               : "memory");
  return m;
}

__device__ inline void multiply_add(const FragmentA<Half>& a, const FragmentB<Half>& b, FragmentC<float>& c) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c.at[0]), "+f"(c.at[1]), "+f"(c.at[2]), "+f"(c.at[3])
      : "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "r"(b.at[0]), "r"(b.at[1]));
}
__device__ inline void multiply_add(const FragmentA<Bfloat16>& a, const FragmentB<Bfloat16>& b, FragmentC<float>& c) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c.at[0]), "+f"(c.at[1]), "+f"(c.at[2]), "+f"(c.at[3])
      : "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "r"(b.at[0]), "r"(b.at[1]));
}
__device__ inline void multiply_add(const FragmentA<std::int8_t>& a, const FragmentB<std::int8_t>& b, FragmentC<std::int32_t>& c) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(c.at[0]), "+r"(c.at[1]), "+r"(c.at[2]), "+r"(c.at[3])
      : "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "r"(b.at[0]), "r"(b.at[1]));
}

__device__ inline float exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline float rsqrt(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline float widen(Half value) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(value.bits));
  return y;
}
__device__ inline Half narrow_to_half(float value) {
  Half y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(value));
  return y;
}
__device__ inline Bfloat16 narrow_to_bfloat16(float value) {
  Bfloat16 y;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(value));
  return y;
}
// dp4a of mixed signs, for which CUDA has no intrinsic.
__device__ inline std::int32_t dot4(std::uint32_t a, std::int32_t b, std::int32_t c) {
  std::int32_t sum;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
  return sum;
}

}  // namespace diecast::kernels::ptx
