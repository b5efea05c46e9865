// Two units of one program define the same names for different instruction sets: each keeps its own. Were they one symbol, the linker would take
// the first unit's for both, and the portable unit might run instructions that this machine lacks.
#include <iostream>

#include "isa_unit.hpp"

int main() {
  const auto fails = [](std::string_view what) {
    std::cerr << what << '\n';
    return 1;
  };
  if (portable_unit.doubled == avx512_unit.doubled) return fails("the two units share a template");
  if (portable_unit.compiled_for == avx512_unit.compiled_for) return fails("the two units share an inline function");
  if (portable_unit.compiled_for() != "portable" || portable_unit.doubled(1.5F) != 3) return fails("the portable unit runs another unit's code");
  if (portable_unit.isa != "portable" || avx512_unit.isa != "avx512") return fails("a unit is named after another unit's instruction set");
  return 0;
}
