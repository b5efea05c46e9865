// Attention of prompts on tensor cores, over caches of each kind: odd groups of heads, head sizes that are no power of two, tiles that hold rows of several
// sequences.
#include "attention.hpp"

using namespace diecast_test;

TEST_CASE("prompts' attention on tensor cores, over caches of halves") {
  CHECK(sweep_flash_attention<HeadShape{9, 3, 64}, Half, Team{64, 1}>(31) == 38);
  CHECK(sweep_flash_attention<HeadShape{7, 1, 80}, Half, Team{32, 1}>(32) == 38);
  CHECK(sweep_flash_attention<HeadShape{20, 1, 24}, Half, Team{32, 1}>(33) == 38);  // a group that two tiles share
}
TEST_CASE("prompts' attention on tensor cores: heads of 128 and 256 values") {
  CHECK(sweep_flash_attention<HeadShape{2, 2, 128}, Half, Team{64, 1}>(34) == 38);
  CHECK(sweep_flash_attention<HeadShape{2, 1, 256}, Bfloat16, Team{32, 1}>(35) == 38);
}
TEST_CASE("prompts' attention on tensor cores, over caches of bfloat16 and of floats") {
  CHECK(sweep_flash_attention<HeadShape{2, 2, 72}, Bfloat16, Team{64, 1}>(41) == 38);
  CHECK(sweep_flash_attention<HeadShape{3, 1, 15}, float, Team{32, 1}>(42) == 38);
}
