// What the two units share: a template and an inline function as a header for one instruction set defines them. Both are weak symbols, of which the
// linker keeps one for each name.
#pragma once

#include <string_view>

#include <diecast/isa.hpp>

#include <diecast/isa_begin.hpp>

namespace isa_test::inline DIECAST_ISA {

template <typename T>
T doubled(T value) {
  return value + value;
}
inline std::string_view compiled_for() { return diecast::isa; }

}  // namespace isa_test::inline DIECAST_ISA

#include <diecast/isa_end.hpp>

// One unit's own: where its template and its inline function lie. They are constants, so that a machine which lacks the other set's instructions
// can compare them without running any of that unit.
struct Unit {
  float (*doubled)(float);
  std::string_view (*compiled_for)();
  std::string_view isa;
};
extern const Unit portable_unit, avx512_unit;
