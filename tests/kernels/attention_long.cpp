// Row C2 of cases.md: contexts at whose lengths kernels of others outgrew a block's shared memory (48 KiB of scores are 12,288 floats). Here
// it holds a chunk's scores and no more, whatever the length; the answers are held to the definition as those of short contexts are.
#include "attention.hpp"

using namespace diecast_test;

TEST_CASE("C2: attention over 8,135 to 65,536 positions needs no more shared memory than over one") {
  using Op = Attention<HeadShape{1, 1, 64}, Half, Team{128, 1}>;
  STATIC_REQUIRE(sizeof(Op::Shared) < 8 * 1024);
  for (const int length : {8135, 8136, 12288, 41217, 65536}) {
    INFO(length << " positions");
    CHECK(wrong_attention<Op, Op, HeadShape{1, 1, 64}, Half>({{{0, length - 1}}, 0, 0.0f, 4}, {0, 18}, static_cast<std::uint64_t>(length), false) == 0);
  }
}
