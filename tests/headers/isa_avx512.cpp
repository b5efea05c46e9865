// Compiled with -march=x86-64-v4 -mavx512vnni.
#include "isa_unit.hpp"

static_assert(diecast::isa == "avx512");

constinit const Unit avx512_unit{isa_test::doubled<float>, isa_test::compiled_for, diecast::isa};
