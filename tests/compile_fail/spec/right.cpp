// compiles
#include <diecast/spec/check.hpp>

#include "right.hpp"

struct Right {
  static constexpr diecast::Spec spec = right;
};
static_assert(diecast::possible<Right>);
