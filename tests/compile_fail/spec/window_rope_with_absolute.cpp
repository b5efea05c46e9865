// expect: attention.window.rope must be absent in a model with absolute positions
#include <diecast/spec/check.hpp>

#include "right.hpp"

struct Wrong {
  static constexpr diecast::Spec spec = [] {
    diecast::Spec s = right;
    s.position = diecast::Absolute{.positions = 8192};
    s.attention.window = diecast::SlidingWindow{.length = 512, .rope = diecast::Rope{.theta = 10'000}};
    return s;
  }();
};
static_assert(diecast::possible<Wrong>);
