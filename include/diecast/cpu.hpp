// The CPU path: steps 3-5 at the speed of the memory. It is compiled for the instruction set that the unit is compiled for (-march=native).
#pragma once

#include <diecast/cpu/cpu.hpp>
#include <diecast/cpu/engine_file.hpp>
#include <diecast/cpu/load.hpp>
#include <diecast/cpu/make.hpp>
#include <diecast/cpu/unpack.hpp>
