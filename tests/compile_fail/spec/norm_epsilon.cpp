// expect: norm.epsilon must be greater than 0 and less than 1
#include <diecast/spec/check.hpp>

#include "right.hpp"

struct Wrong {
  static constexpr diecast::Spec spec = [] {
    diecast::Spec s = right;
    s.norm = diecast::RmsNorm{.epsilon = 0};
    return s;
  }();
};
static_assert(diecast::possible<Wrong>);
