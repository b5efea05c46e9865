// The command line of an engine binary. It is compiled once for all models; a model's own unit is a few lines (CMake's diecast_engine
// writes them from a config) that hand over what was compiled in.
#pragma once

#include <memory>

#include <diecast/backend/backend.hpp>
#include <diecast/cpu/path.hpp>
#include <diecast/files/compiled.hpp>
#include <diecast/files/weights.hpp>

namespace diecast::shell {

// Device code of this model on the host executor; null where it was not compiled in.
using MakeEmulated = std::shared_ptr<const Backend> (*)(const Weights&);

// Runs a command line; returns the exit status: 0, 2 for what the user can mend, 1 for anything else. cpu: the kernels of the model's own unit.
int main(const Compiled& compiled, const cpu::Path& cpu, int argc, char** argv, MakeEmulated emulated = nullptr);

}  // namespace diecast::shell
