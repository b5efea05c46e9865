// The order of stages in the kernel that runs whole tokens, checked by the compiler for counts of SMs that exist and some that do not; and the
// checks themselves, on schedules that are wrong.
#include <catch2/catch.hpp>

#include <diecast/kernels/schedule.hpp>

using namespace diecast::kernels;

namespace {

constexpr ModelShape plain{.hidden = 576,
                           .heads = {9, 3, 64},
                           .rotary = {64},
                           .head_norms = HeadNorms::none,
                           .mlp = {1536, true, Activate::silu},
                           .vocab = 49152,
                           .norm = NormKind::rms,
                           .norm_before = true,
                           .norm_after = false,
                           .branches = Branches::in_order,
                           .forms = forms(q4_1_form),
                           .team = {256, 4}};
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

constexpr bool right(const ModelShape& m, int blocks, bool draws = false) {
  const Schedule s = make_schedule(m, blocks, draws);
  return is_ordered(m, s) && finishes(s, blocks, 2);
}
// 108: A100, 114: H100 PCIe, 132: H100 SXM and H200, 148: B200. A compiler counts the steps of one assertion.
static_assert(right(plain, 1) && right(plain, 2) && right(plain, 7));
static_assert(right(plain, 108) && right(plain, 114));
static_assert(right(plain, 132) && right(plain, 148));
static_assert(right(gemma, 1) && right(gemma, 3));
static_assert(right(gemma, 132) && right(gemma, 148));
static_assert(right(olmo, 2) && right(olmo, 108) && right(olmo, 132));
static_assert(right(neox, 2) && right(neox, 108) && right(neox, 132));
static_assert(right(plain, 1, true) && right(plain, 3, true) && right(plain, 132, true));
static_assert(right(gemma, 2, true) && right(gemma, 148, true));
static_assert(right(olmo, 108, true) && right(neox, 7, true));

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
