// expect: rope rotary_dim must be a multiple of 2, since values turn in pairs
#include <diecast/spec/check.hpp>

#include "right.hpp"

struct Wrong {
  static constexpr diecast::Spec spec = [] {
    diecast::Spec s = right;
    s.position = diecast::Rope{.theta = 1e4, .rotary_dim = 33};
    return s;
  }();
};
static_assert(diecast::possible<Wrong>);
