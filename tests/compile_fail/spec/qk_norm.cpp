// expect: attention.qk_norm needs norm RmsNorm
#include <diecast/spec/check.hpp>

#include "right.hpp"

struct Wrong {
  static constexpr diecast::Spec spec = [] {
    diecast::Spec s = right_absolute;
    s.attention.qk_norm = diecast::QkNorm::each_head;
    return s;
  }();
};
static_assert(diecast::possible<Wrong>);
