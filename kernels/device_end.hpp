// Ends what device_begin.hpp began.
#undef DIECAST_DEVICE
