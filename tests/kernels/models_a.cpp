// Whole models through single kernels: a third of the odd configs.
#include "models.hpp"

using namespace diecast::testing;

TEST_CASE("odd models 0 to 2 on the backend emulated: the reference's ids, and the same bits in any company") {
  CHECK(check_model<OddConfig<0>>(1, 2) == 30);
  CHECK(check_model<OddConfig<1>>(2, 1) == 30);
  CHECK(check_model<OddConfig<2>>(3, 4) == 30);
}
