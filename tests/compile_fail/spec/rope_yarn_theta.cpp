// expect: rope theta must be greater than 1 with YaRN
#include <diecast/spec/check.hpp>

#include "right.hpp"

struct Wrong {
  static constexpr diecast::Spec spec = [] {
    diecast::Spec s = right;
    s.position = diecast::Rope{.theta = 1, .scaling = diecast::YarnScaling{.factor = 4, .original_context = 4096}};
    return s;
  }();
};
static_assert(diecast::possible<Wrong>);
