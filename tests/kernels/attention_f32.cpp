// Attention over a cache of floats.
#include "attention.hpp"

using namespace diecast_test;

TEST_CASE("attention over a cache of floats: odd shapes, positions, windows, soft caps") {
  CHECK(sweep_decode_attention<HeadShape{7, 1, 10}, float, Team{64, 1}>(1) == 47);   // seven query heads to one, head size a multiple of nothing
  CHECK(sweep_decode_attention<HeadShape{3, 3, 11}, float, Team{32, 1}>(2) == 47);   // each its own, one warp
  CHECK(sweep_decode_attention<HeadShape{9, 1, 6}, float, Team{96, 1}>(3) == 47);    // a group that two blocks share unevenly
  CHECK(sweep_decode_attention<HeadShape{2, 1, 256}, float, Team{64, 1}>(4) == 47);  // a head wider than a warp's loads
}
