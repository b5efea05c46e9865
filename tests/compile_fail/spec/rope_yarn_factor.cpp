// expect: rope scaling factor must be positive and finite
#include <diecast/spec/check.hpp>

#include "right.hpp"

struct Wrong {
  static constexpr diecast::Spec spec = [] {
    diecast::Spec s = right;
    s.position = diecast::Rope{.theta = 5e5, .scaling = diecast::YarnScaling{.factor = 0, .original_context = 4096}};
    return s;
  }();
};
static_assert(diecast::possible<Wrong>);
