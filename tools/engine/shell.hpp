// The command line of an engine binary. It is compiled once for all models; a model's own unit is a few lines (CMake's diecast_engine
// writes them from a config) that hand over what was compiled in.
#pragma once

#include <diecast/cpu/path.hpp>
#include <diecast/cuda/door.hpp>
#include <diecast/files/compiled.hpp>

namespace diecast::shell {

// Runs a command line; returns the exit status: 0, 2 for what the user can mend, 1 for anything else. cpu: the kernels of the model's own unit;
// devices: the backends emulated and cuda, where this program has them.
int main(const Compiled& compiled, const cpu::Path& cpu, int argc, char** argv, const cuda::Doors& devices = {});

}  // namespace diecast::shell
