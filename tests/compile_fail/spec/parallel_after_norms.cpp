// expect: residual parallel needs norm_placement before
#include <diecast/spec/check.hpp>

#include "right.hpp"

struct Wrong {
  static constexpr diecast::Spec spec = [] {
    diecast::Spec s = right;
    s.residual = diecast::Residual::parallel;
    s.norm_placement = diecast::NormPlacement::after;
    return s;
  }();
};
static_assert(diecast::possible<Wrong>);
