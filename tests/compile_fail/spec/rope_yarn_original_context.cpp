// expect: rope scaling original_context must be at least 1
#include <diecast/spec/check.hpp>

#include "right.hpp"

struct Wrong {
  static constexpr diecast::Spec spec = [] {
    diecast::Spec s = right;
    s.position = diecast::Rope{.theta = 5e5, .scaling = diecast::YarnScaling{.factor = 4, .original_context = 0}};
    return s;
  }();
};
static_assert(diecast::possible<Wrong>);
