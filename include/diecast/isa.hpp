// The instruction set that this unit is compiled for. A header whose code depends on it opens its namespace so, and what it defines gets
// other symbols for each set; its users write diecast::cpu::name as ever:
//
//   #include <diecast/isa.hpp>
//   ... all other includes ...
//   #include <diecast/isa_begin.hpp>
//
//   namespace diecast::cpu::inline DIECAST_ISA {
//   ...
//   }
//
//   #include <diecast/isa_end.hpp>
//
// What does not depend on it (specs, files, tokenizers, the interface of backends) stays outside and is one for the whole program.
#pragma once

#include <string_view>

#include <diecast/isa_begin.hpp>
#define DIECAST_QUOTED_(name) #name
#define DIECAST_QUOTED(name) DIECAST_QUOTED_(name)

namespace diecast::inline DIECAST_ISA {

/// The set whose kernels this unit uses: "avx512" (AVX-512 F, BW, DQ, VL and VNNI), "avx2" (AVX2, FMA and F16C), "dotprod" (NEON
/// with Armv8.2's dot products), "neon" or "portable".
/// The compiler decides by its options (-march=native, -march=x86-64-v3), never the machine that the program runs on.
inline constexpr std::string_view isa = [] {
  constexpr std::string_view name = DIECAST_QUOTED(DIECAST_ISA);
  return name.substr(0, name.find('_'));
}();

}  // namespace diecast::inline DIECAST_ISA

#undef DIECAST_QUOTED
#undef DIECAST_QUOTED_
#include <diecast/isa_end.hpp>
