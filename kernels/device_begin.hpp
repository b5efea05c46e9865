// DIECAST_DEVICE marks a function that runs on the device; a host compiler sees nothing. It exists between this header and
// device_end.hpp only, so that no macro is left behind: both are included anew by every kernel header, hence no #pragma once.
#ifdef DIECAST_DEVICE
#error "diecast/kernels/device_begin.hpp is included twice: device_end.hpp is missing after the last header, or a header is included between the two"
#endif
#ifdef __CUDACC__
#define DIECAST_DEVICE __device__
#else
#define DIECAST_DEVICE
#endif
