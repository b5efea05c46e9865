// Q/K/V with everything around it in one kernel.
#include "qkv.hpp"

using namespace diecast_test;

TEST_CASE("QkvAppend over shapes that differ on every axis") {
  constexpr Prologue rms{NormKind::rms, false, NormKind::rms}, layer{NormKind::layer, false, NormKind::layer},
      both{NormKind::rms, true, NormKind::rms}, after{NormKind::none, true, NormKind::layer};
  CHECK(sweep_qkv<46, HeadShape{7, 1, 10}, RotaryDim{10}, rms, float, Team{64, 4}, Path::fused>(1) == 24);
  CHECK(sweep_qkv<33, HeadShape{3, 3, 11}, RotaryDim{0}, layer, float, Team{32, 2}, Path::fused>(2) ==
        24);  // learned positions: nothing turns, an odd head
  CHECK(sweep_qkv<72, HeadShape{4, 2, 18}, RotaryDim{6}, both, Half, Team{64, 1}, Path::fused>(3) ==
        24);  // a part turns; halves; a branch comes first
  CHECK(sweep_qkv<96, HeadShape{2, 1, 80}, RotaryDim{32}, after, Bfloat16, Team{96, 3}, Path::fused>(4) == 24);
}
