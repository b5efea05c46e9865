// Attention over caches of 16 bits. C6: head sizes that are no power of two; what nobody wrote is never read.
#include "attention.hpp"

using namespace diecast_test;

TEST_CASE("C6: attention over a cache of halves: head sizes 72, 80, 96, 112") {
  CHECK(sweep_decode_attention<HeadShape{4, 2, 72}, Half, Team{64, 1}>(11) == 47);
  CHECK(sweep_decode_attention<HeadShape{7, 1, 80}, Half, Team{64, 1}>(12) == 47);
  CHECK(sweep_decode_attention<HeadShape{3, 3, 96}, Half, Team{96, 1}>(13) == 47);
  CHECK(sweep_decode_attention<HeadShape{2, 1, 112}, Half, Team{32, 1}>(14) == 47);
}

TEST_CASE("attention over a cache of bfloat16") {
  CHECK(sweep_decode_attention<HeadShape{9, 3, 64}, Bfloat16, Team{64, 1}>(21) == 47);
  CHECK(sweep_decode_attention<HeadShape{4, 1, 14}, Bfloat16, Team{64, 1}>(22) == 47);
}
