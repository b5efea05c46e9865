// Q/K/V where Q and K are normalised: two kernels.
#include "qkv.hpp"

using namespace diecast_test;

TEST_CASE("ProjectQkv and NormRopeAppend over shapes that differ on every axis") {
  constexpr Prologue rms{NormKind::rms, false, NormKind::rms}, after{NormKind::none, true, NormKind::rms};
  CHECK(sweep_qkv<46, HeadShape{4, 2, 14}, RotaryDim{14}, rms, float, Team{64, 4}, Path::each_head>(11) == 24);
  CHECK(sweep_qkv<72, HeadShape{6, 3, 12}, RotaryDim{12}, after, float, Team{32, 2}, Path::all_heads>(12) == 24);
  CHECK(sweep_qkv<40, HeadShape{7, 1, 36}, RotaryDim{8}, rms, Half, Team{64, 1}, Path::each_head>(13) == 24);
}
