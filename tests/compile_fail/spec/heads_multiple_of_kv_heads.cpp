// expect: attention.heads must be a multiple of attention.kv_heads, since each KV head serves as many query heads
#include <diecast/spec/check.hpp>

#include "right.hpp"

struct Wrong {
  static constexpr diecast::Spec spec = [] {
    diecast::Spec s = right;
    s.attention.kv_heads = 4;
    return s;
  }();
};
static_assert(diecast::possible<Wrong>);
