// expect: context must be at most position.positions, since every position needs its row of the table
#include <diecast/spec/check.hpp>

#include "right.hpp"

struct Wrong {
  static constexpr diecast::Spec spec = [] {
    diecast::Spec s = right;
    s.position = diecast::Absolute{.positions = 1024};
    return s;
  }();
};
static_assert(diecast::possible<Wrong>);
