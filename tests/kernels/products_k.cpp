// W x + b with weights of K-formats, whose scales have two levels; and all kinds of forms in one kernel.
#include "products.hpp"

using diecast::Format;
using namespace diecast_test;

TEST_CASE("products of Q4_K, Q5_K and Q6_K weights: exact on whole numbers, within the bound on others") {
  constexpr FormSet set = forms(q4_k_form, q5_k_form, q6_k_form);
  const std::vector<Format> formats{Format::q4_k, Format::q5_k, Format::q6_k};
  int cases = 0;
  cases += sweep_products<Extents{5, 256}, set, Team{64, 4}>(formats, 21);
  cases += sweep_products<Extents{3, 1280}, set, Team{32, 2}>(formats, 22);
  CHECK(cases == 2 * 3 * 24);
}

TEST_CASE("floats and integers in one kernel: each matrix has its own form") {
  constexpr FormSet set = forms(f16_form, q6_k_form, q4_0_form);
  CHECK(sweep_products<Extents{7, 256}, set, Team{64, 2}>({Format::f16, Format::q6_k, Format::q4_0}, 31) == 72);
}
