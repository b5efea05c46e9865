// expect: attention.heads times attention.head_dim must be at most 2^24
#include <diecast/spec/check.hpp>

#include "right.hpp"

struct Wrong {
  static constexpr diecast::Spec spec = [] {
    diecast::Spec s = right;
    s.attention.head_dim = 1 << 24;
    return s;
  }();
};
static_assert(diecast::possible<Wrong>);
