// expect: rope scaling low_freq_factor must be positive and finite
#include <diecast/spec/check.hpp>

#include "right.hpp"

struct Wrong {
  static constexpr diecast::Spec spec = [] {
    diecast::Spec s = right;
    s.position = diecast::Rope{.theta = 5e5, .scaling = diecast::Llama3Scaling{8, 0, 4, 8192}};
    return s;
  }();
};
static_assert(diecast::possible<Wrong>);
