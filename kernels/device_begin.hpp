// DIECAST_DEVICE marks a function that runs on the device, and is made part of its caller there: a call would put parameters into memory.
// DIECAST_HOST_DEVICE marks a constexpr one that both sides call. DIECAST_UNROLL stands before a loop over registers, which have no index: left as a
// loop, they would lie in memory. A host compiler sees nothing of all this. They exist between this header and
// device_end.hpp only, so that no macro is left behind: both are included anew by every kernel header, hence no #pragma once.
#ifdef DIECAST_DEVICE
#error "diecast/kernels/device_begin.hpp is included twice: device_end.hpp is missing after the last header, or a header is included between the two"
#endif
#ifdef __CUDACC__
#define DIECAST_DEVICE __device__ __forceinline__
#define DIECAST_HOST_DEVICE __host__ __device__
#define DIECAST_UNROLL _Pragma("unroll")
#else
#define DIECAST_DEVICE
#define DIECAST_HOST_DEVICE
#define DIECAST_UNROLL
#endif
