// Which GPUs compiled kernels run on: those of an architecture that they were compiled for, and later ones. Numbers are as in sm_80: 10 * major + minor.
#pragma once

#include <algorithm>
#include <span>
#include <string>

#include <diecast/error.hpp>

namespace diecast::cuda {

// compiled: at least one, in any order.
inline void check_architecture(std::span<const int> compiled, int found, const std::string& gpu) {
  const int lowest = *std::min_element(compiled.begin(), compiled.end());
  if (found < lowest)
    throw Error("these kernels are compiled for sm_" + std::to_string(lowest) + " and up, " + gpu + " is sm_" + std::to_string(found) +
                (found < 80 ? "; the least that they could be compiled for is sm_80" : ": compile them for it"));
}

}  // namespace diecast::cuda
