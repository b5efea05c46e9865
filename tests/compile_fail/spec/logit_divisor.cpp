// expect: logit_divisor must be positive and finite
#include <diecast/spec/check.hpp>

#include "right.hpp"

struct Wrong {
  static constexpr diecast::Spec spec = [] {
    diecast::Spec s = right;
    s.logit_divisor = -8;
    return s;
  }();
};
static_assert(diecast::possible<Wrong>);
