// W x + b with weights of integers, a scale for 32: the simple block formats.
#include "products.hpp"

using diecast::Format;
using namespace diecast_test;

TEST_CASE("products of Q8_0, Q4_0, Q4_1, Q5_0 and Q5_1 weights: exact on whole numbers, within the bound on others") {
  constexpr FormSet set = forms(q8_0_form, q4_0_form, q4_1_form, q5_0_form, q5_1_form);
  const std::vector<Format> formats{Format::q8_0, Format::q4_0, Format::q4_1, Format::q5_0, Format::q5_1};
  int cases = 0;
  cases += sweep_products<Extents{9, 32}, set, Team{64, 4}>(formats, 11);
  cases += sweep_products<Extents{5, 96}, set, Team{64, 2}>(formats, 12);
  cases += sweep_products<Extents{3, 1120}, set, Team{96, 1}>(formats, 13);
  CHECK(cases == 3 * 5 * 24);
}
