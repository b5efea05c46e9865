// The CPU path of a program as its other units see it, which may be compiled for another instruction set.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include <diecast/backend/backend.hpp>
#include <diecast/cpu/machine.hpp>
#include <diecast/cpu/options.hpp>
#include <diecast/cpu/parts.hpp>
#include <diecast/error.hpp>

namespace diecast::cpu {

struct Path {
  std::string_view isa{};  // as diecast::isa
  std::shared_ptr<const Backend> (*run)(std::shared_ptr<const PackedModel>, const Options&) = nullptr;
  // One product as the backend computes it, to be verified: W x + b for one token, with narrow or wide activations.
  std::vector<float> (*multiply)(const LinearPart&, std::span<const float> x, bool wide) = nullptr;
  Ceilings (*ceilings)(std::size_t bytes, int threads) = nullptr;
};

inline bool runs_here(std::string_view isa) {
#if defined(__x86_64__)
  if (isa == "avx512")
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni");
  if (isa == "avx2") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#elif defined(__aarch64__)
  if (isa == "neon") return true;
#if defined(__linux__)
  if (isa == "dotprod") return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#else
  if (isa == "dotprod") return true;  // all of Apple's have them
#endif
#endif
  return isa == "portable";
}

// Refuses a path whose instructions this machine has not.
inline void check_machine(const Path& path) {
  if (!runs_here(path.isa)) throw Error("this engine was compiled for the instruction set " + std::string(path.isa) + ", which this CPU does not have: cast it here again");
}

}  // namespace diecast::cpu
