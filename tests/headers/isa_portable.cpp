// Compiled with -march=x86-64.
#include "isa_unit.hpp"

static_assert(diecast::isa == "portable");

constinit const Unit portable_unit{isa_test::doubled<float>, isa_test::compiled_for, diecast::isa};
