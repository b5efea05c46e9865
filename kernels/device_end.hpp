// Ends what device_begin.hpp began.
#undef DIECAST_DEVICE
#undef DIECAST_HOST_DEVICE
#undef DIECAST_UNROLL
