// expect: rope scaling factor must be positive and finite
#include <diecast/spec/check.hpp>

#include "right.hpp"

struct Wrong {
  static constexpr diecast::Spec spec = [] {
    diecast::Spec s = right;
    s.position = diecast::Rope{.theta = 1e4, .scaling = diecast::LinearScaling{0}};
    return s;
  }();
};
static_assert(diecast::possible<Wrong>);
