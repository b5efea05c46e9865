// expect: residual_scale must be positive and finite
#include <diecast/spec/check.hpp>

#include "right.hpp"

struct Wrong {
  static constexpr diecast::Spec spec = [] {
    diecast::Spec s = right;
    s.residual_scale = 0;
    return s;
  }();
};
static_assert(diecast::possible<Wrong>);
