// expect: attention.window.full_every must be at least 1
#include <diecast/spec/check.hpp>

#include "right.hpp"

struct Wrong {
  static constexpr diecast::Spec spec = [] {
    diecast::Spec s = right;
    s.attention.window = diecast::SlidingWindow{.length = 512, .full_every = 0};
    return s;
  }();
};
static_assert(diecast::possible<Wrong>);
