// The order of stages in the kernel that runs whole tokens, checked by the compiler for counts of SMs that exist and some that do not; and the
// checks themselves, on schedules that are wrong.
#include <catch2/catch.hpp>

#include <diecast/kernels/schedule.hpp>

#include "smollm2_shape.hpp"

using namespace diecast::kernels;

namespace {

constexpr ModelShape plain = [] {
  ModelShape m = diecast_test::smollm2;
  m.forms = forms(q4_1_form);
  m.team = {256, 4};
  return m;
}();
constexpr ModelShape changed(HeadNorms norms, bool after, Branches branches, int hidden) {
  ModelShape m = plain;
  m.head_norms = norms;
  m.norm_after = after;
  m.branches = branches;
  m.hidden = hidden;
  return m;
}
constexpr ModelShape gemma = changed(HeadNorms::each_head, true, Branches::in_order, 640),
                     olmo = changed(HeadNorms::all_heads, true, Branches::in_order, 46),
                     neox = changed(HeadNorms::none, false, Branches::beside, 33);

// 108: A100, 114: H100 PCIe, 132: H100 SXM and H200, 148: B200.
// A compiler counts the steps of each constant: clang takes a million.
template <ModelShape m, int blocks, bool draws>
constexpr Schedule schedule_of = make_schedule(m, blocks, draws);
template <ModelShape m, int blocks, bool draws>
constexpr bool ordered = is_ordered(m, schedule_of<m, blocks, draws>);
template <ModelShape m, int blocks, bool draws>
constexpr bool ends = finishes(schedule_of<m, blocks, draws>, blocks, 2);
template <ModelShape m, bool draws, int... blocks>
constexpr bool right_for = ((ordered<m, blocks, draws> && ends<m, blocks, draws>) && ...);
static_assert(right_for<plain, false, 1, 2, 7, 108, 114, 132, 148>);
static_assert(right_for<gemma, false, 1, 3, 132, 148>);
static_assert(right_for<olmo, false, 2, 108, 132>);
static_assert(right_for<neox, false, 2, 108, 132>);
static_assert(right_for<plain, true, 1, 3, 132> && right_for<gemma, true, 2, 148>);
static_assert(right_for<olmo, true, 108> && right_for<neox, true, 7>);

}  // namespace

TEST_CASE("every stage waits for what it needs and for nothing else") {
  const Schedule s = make_schedule(plain, 132);
  REQUIRE(s.count == 9);
  CHECK(s.at[0].stage == Stage::embed);
  CHECK(s.at[7].stage == Stage::draw);
  CHECK(s.at[8].stage == Stage::advance);
  CHECK(s.layer_begin == 1);
  CHECK(s.layer_end == 6);
  for (int i = 1; i < s.count; ++i) {
    INFO("stage " << i);
    int waits = 0;
    for (const int other : s.at[i].waits) waits += other >= 0;
    // Q/K/V reads the hidden states of the embedding in the first layer, of down in the others; the head those of down. Nobody draws.
    CHECK(waits == (i == 1 ? 2 : i == 7 ? 0 : 1));
    CHECK(s.at[i].waits[0] == (i == 1 ? 0 : i == 7 ? -1 : i == 8 ? 6 : i - 1));
  }
  CHECK(s.at[s.find(Stage::output)].workers == 72);  // 576 rows, eight warps a block
  CHECK(s.at[s.find(Stage::head)].workers == 132);
}

TEST_CASE("gate and up do not wait for attention where both read the same hidden states") {
  const Schedule s = make_schedule(neox, 132);
  const Schedule::Entry& gate_up = s.at[s.find(Stage::gate_up)];
  for (const int other : gate_up.waits) CHECK(other != s.find(Stage::qkv));
}

TEST_CASE("a schedule without one of its waits is found out, whichever it is") {
  int found = 0, waits = 0;
  for (const ModelShape* m : {&plain, &gemma, &olmo, &neox})
    for (const int blocks : {2, 132}) {
      const Schedule s = make_schedule(*m, blocks, blocks == 132);
      for (int i = 0; i < s.count; ++i)
        for (int w = 0; w < Schedule::most_waits; ++w)
          if (s.at[i].waits[w] >= 0 && !(i == 0 && w == 0)) {  // the first entry's stands beside the kernel's own wait
            Schedule less = s;
            less.at[i].waits[w] = -1;
            ++waits;
            found += !is_ordered(*m, less);
          }
    }
  CHECK(found == waits);
  CHECK(waits > 50);
}

TEST_CASE("a schedule whose stages wait for each other never ends, and is found out") {
  Schedule s = make_schedule(plain, 4);
  s.at[s.find(Stage::output)].workers = 5;  // more than there are: the counter never reaches what others wait for
  CHECK_FALSE(finishes(s, 4, 2));
}
