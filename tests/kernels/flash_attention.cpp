// Attention of prompts on tensor cores, over caches of each kind: odd groups of heads, head sizes that are no power of two, tiles that hold rows of several
// sequences.
#include "attention.hpp"

using namespace diecast_test;

TEST_CASE("prompts' attention on tensor cores, over caches of halves") {
  CHECK(sweep_flash_attention<HeadShape{9, 3, 64}, Half, Team{64, 1}>(31) == 38);
  CHECK(sweep_flash_attention<HeadShape{7, 1, 80}, Half, Team{32, 1}>(32) == 38);
}
TEST_CASE("prompts' attention on tensor cores, over caches of bfloat16 and of floats") {
  CHECK(sweep_flash_attention<HeadShape{2, 2, 72}, Bfloat16, Team{64, 1}>(41) == 38);
  CHECK(sweep_flash_attention<HeadShape{3, 1, 15}, float, Team{32, 1}>(42) == 38);
}
