// W x + b with weights of floats, over widths that are multiples of nothing.
#include "products.hpp"

using diecast::Format;
using namespace diecast_test;

TEST_CASE("products of f32, f16 and bf16 weights: exact on whole numbers, within the bound on others") {
  constexpr FormSet set = forms(f32_form, f16_form, bf16_form);
  const std::vector<Format> formats{Format::f32, Format::f16, Format::bf16};
  int cases = 0;
  cases += sweep_products<Extents{33, 46}, set, Team{64, 4}>(formats, 1);
  cases += sweep_products<Extents{46, 1}, set, Team{64, 2}>(formats, 2);
  cases += sweep_products<Extents{5, 101}, set, Team{96, 4}>(formats, 3);
  cases += sweep_products<Extents{10, 257}, set, Team{32, 1}>(formats, 4);
  cases += sweep_products<Extents{3, 600}, set, Team{64, 3}>(formats, 5);
  CHECK(cases == 5 * 3 * 24);
}
