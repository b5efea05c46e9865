// expect: mlp.width must be at least 1 and at most 2^24
#include <diecast/spec/check.hpp>

#include "right.hpp"

struct Wrong {
  static constexpr diecast::Spec spec = [] {
    diecast::Spec s = right;
    s.mlp = diecast::PlainMlp{.width = 0, .activation = diecast::Activation::gelu};
    return s;
  }();
};
static_assert(diecast::possible<Wrong>);
