// Whole models through single kernels: a third of the odd configs.
#include "models.hpp"

using namespace diecast::testing;

TEST_CASE("odd models 3 to 5 on the backend emulated: the reference's ids, and the same bits in any company") {
  CHECK(check_model<OddConfig<3>>(1, 2) == 30);
  CHECK(check_model<OddConfig<4>>(2, 1) == 30);
  CHECK(check_model<OddConfig<5>>(3, 4) == 30);
}
