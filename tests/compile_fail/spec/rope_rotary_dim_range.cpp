// expect: rope rotary_dim must be at least 2 and at most attention.head_dim
#include <diecast/spec/check.hpp>

#include "right.hpp"

struct Wrong {
  static constexpr diecast::Spec spec = [] {
    diecast::Spec s = right;
    s.position = diecast::Rope{.theta = 1e4, .rotary_dim = 66};
    return s;
  }();
};
static_assert(diecast::possible<Wrong>);
