// expect: attention.qk_norm needs norm RmsNorm
#include <diecast/spec/check.hpp>

#include "right.hpp"

struct Wrong {
  static constexpr diecast::Spec spec = [] {
    diecast::Spec s = right;
    s.attention.qk_norm = true;
    s.norm = diecast::LayerNorm{.epsilon = 1e-5};
    return s;
  }();
};
static_assert(diecast::possible<Wrong>);
