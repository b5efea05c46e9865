// Ends what isa_begin.hpp began.
#undef DIECAST_ISA
