// expect: layers must be at least 1 and at most 4096
#include <diecast/spec/check.hpp>

#include "right.hpp"

struct Wrong {
  static constexpr diecast::Spec spec = [] {
    diecast::Spec s = right;
    s.layers = 5000;
    return s;
  }();
};
static_assert(diecast::possible<Wrong>);
