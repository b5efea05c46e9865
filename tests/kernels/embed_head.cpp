// Step 3 and step 5: rows of the embedding table in every format, and the head with its choice of the best id.
#include <catch2/catch.hpp>

#include <limits>

#include <diecast/kernels/embed.hpp>
#include <diecast/kernels/head.hpp>

#include "oracle.hpp"

using diecast::Format;
using namespace diecast::kernels;
using namespace diecast_test;

namespace {

// A row of the table is the same bits that files/decode.hpp gives.
template <int hidden, FormSet set, Team team>
int wrong_embeddings(Format format, Format of_positions, int rows, int blocks, bool positions, std::uint64_t seed) {
  using Op = Embed<Hidden{hidden}, set, team>;
  Numbers numbers(seed);
  const diecast::Tensor table = random_tensor(format, 9, hidden, numbers), learned = random_tensor(of_positions, 7, hidden, numbers);
  const std::vector<float> of_table = decoded(table), of_learned = decoded(learned);
  std::vector<int> ids, at;
  for (int row = 0; row < rows; ++row) {
    ids.push_back(numbers.below(9));
    at.push_back(numbers.below(7));
  }
  const Matrix<set> table_there(table, {}), learned_there(learned, {});
  const Step step(ids, at, at, {});
  const float scale = positions ? 1.0f : 5.5f;
  Floats out(rows * hidden);
  Values<std::uint64_t> best(rows);
  launch<Op>(blocks, {step.rows(), table_there.linear(), scale, positions ? learned_there.linear() : Linear{}, out.data(), best.data()});
  const std::vector<float> got = out.all();
  int wrong = 0;
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < hidden; ++i) {
      const float value = of_table[static_cast<std::size_t>(ids[static_cast<std::size_t>(row)] * hidden + i)] * scale;
      wrong += !(got[static_cast<std::size_t>(row * hidden + i)] ==
                 (positions ? value + of_learned[static_cast<std::size_t>(at[static_cast<std::size_t>(row)] * hidden + i)] : value));
    }
    wrong += best[row] != 0;
  }
  return wrong;
}

// Logits that are exactly what `weights` says: hidden 8, no norm, x = (1, 0, 0, ...).
struct Logits {
  std::vector<float> values;  // [vocab]
  float divisor = 1, soft_cap = 0;
  int drawable = 1000;
};
template <int vocab>
std::pair<std::vector<float>, std::uint64_t> head_of(const Logits& l, int blocks) {
  using Op = Head<Hidden{8}, Vocabulary{vocab}, Prologue{NormKind::none, false, NormKind::rms}, forms(f32_form), Team{64, 2}>;
  std::vector<float> weights;
  for (const float value : l.values)
    for (int i = 0; i < 8; ++i) weights.push_back(i == 0 ? value : 0.0f);
  diecast::Tensor tensor{.name = "head", .format = Format::f32, .rows = vocab, .cols = 8};
  tensor.bytes = std::as_bytes(std::span<const float>(weights));
  const Matrix<forms(f32_form)> there(tensor, {});
  const Constants<float> x({1, 0, 0, 0, 0, 0, 0, 0});
  const Step step = Step::of(1);
  Floats logits(vocab);
  Values<std::uint64_t> best(std::vector<std::uint64_t>{0});
  launch<Op>(blocks, {step.rows(),
                      {x.data(), {}, nullptr, {}, 1, nullptr},
                      there.linear(),
                      l.divisor,
                      l.soft_cap,
                      l.drawable,
                      logits.data(),
                      best.data()});
  return {logits.all(), best[0]};
}

template <int hidden, int vocab, Prologue prologue, Team team>
int wrong_logits(int rows, int blocks, const std::vector<int>& asked, std::uint64_t seed) {
  using Op = Head<Hidden{hidden}, Vocabulary{vocab}, prologue, two_forms, team>;
  Numbers numbers(seed);
  const StreamThere<prologue, hidden> stream(rows, true, numbers);
  const MatrixThere head(vocab, hidden, rows % 2 == 0, numbers);
  std::vector<int> all(static_cast<std::size_t>(rows));
  const Step step(all, all, all, asked);
  const int count = static_cast<int>(asked.size());
  Floats logits(count * vocab);
  Values<std::uint64_t> best(std::vector<std::uint64_t>(asked.size()));
  launch_once<Op>(blocks, {step.rows(), stream.stream(), head.there.linear(), 3.0f, 5.0f, vocab, logits.data(), best.data()});
  const std::vector<float> got = logits.all();
  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    const Row want = product(head.weights, head.bias, stream.input(asked[static_cast<std::size_t>(i)]));
    int first = 0;
    for (int id = 0; id < vocab; ++id) {
      const float logit = got[static_cast<std::size_t>(i * vocab + id)];
      wrong += !within(logit, 5 * std::tanh(want[static_cast<std::size_t>(id)] / 15), product_bound(hidden));
      if (logit > got[static_cast<std::size_t>(i * vocab + first)]) first = id;
    }
    wrong += best_id(best[i]) != first || !best_is_drawable(best[i]);
  }
  return wrong;
}

}  // namespace

TEST_CASE("embedding rows in every format, with learned positions and without, are the bits of the file's decoder") {
  constexpr FormSet set = forms(f32_form, f16_form, bf16_form),
                    blocks = forms(q8_0_form, q4_0_form, q4_1_form, q5_0_form, q6_k_form, q4_k_form);
  int cases = 0;
  for (const int rows : {1, 3, 5})
    for (const int grid : {1, 2}) {
      for (const Format format : {Format::f32, Format::f16, Format::bf16}) {
        CHECK(wrong_embeddings<46, set, Team{64, 4}>(format, Format::f32, rows, grid, false, 1) == 0);
        CHECK(wrong_embeddings<33, set, Team{64, 4}>(format, Format::f16, rows, grid, true, 2) == 0);
        cases += 2;
      }
      for (const Format format : {Format::q8_0, Format::q4_0, Format::q4_1, Format::q5_0, Format::q6_k, Format::q4_k}) {
        CHECK(wrong_embeddings<256, blocks, Team{32, 1}>(format, Format::q8_0, rows, grid, rows == 3, 3) == 0);
        ++cases;
      }
    }
  CHECK(cases == 6 * 12);
}

TEST_CASE("the head's logits and its best id, over odd shapes, for the rows that ask") {
  constexpr Prologue rms{NormKind::rms, false, NormKind::rms}, layer{NormKind::layer, false, NormKind::layer},
      both{NormKind::rms, true, NormKind::rms};
  int cases = 0;
  for (const int blocks : {1, 2, 5})
    for (const auto& [rows, asked] :
         std::vector<std::pair<int, std::vector<int>>>{{1, {0}}, {3, {2}}, {4, {0, 1, 2, 3}}, {6, {5, 0, 3, 1, 2}}}) {
      CHECK(wrong_logits<46, 65, rms, Team{64, 4}>(rows, blocks, asked, 1) == 0);
      CHECK(wrong_logits<33, 61, layer, Team{32, 2}>(rows, blocks, asked, 2) == 0);
      CHECK(wrong_logits<72, 77, both, Team{96, 1}>(rows, blocks, asked, 3) == 0);
      cases += 3;
    }
  CHECK(cases == 36);
}

TEST_CASE("the best id: the lowest among equals, both zeros equal, minus infinity last, a NaN seen") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const int blocks : {1, 3}) {
    CHECK(best_id(head_of<5>({{1, 7, 3, 7, 7}}, blocks).second) == 1);
    CHECK(best_id(head_of<5>({{-0.0f, 0.0f, -1, 0.0f, -5}}, blocks).second) == 0);
    CHECK(best_id(head_of<5>({{-3, -2, -4, -2, -9}}, blocks).second) == 1);
    CHECK(best_id(head_of<5>({{1, 2, 3, 4, 5}, 1, 0, 3}, blocks).second) == 2);  // ids 3 and 4 are beyond the tokenizer's
    CHECK(best_is_drawable(head_of<5>({{-infinity, -1e30f, -infinity, -infinity, -infinity}}, blocks).second));
    CHECK_FALSE(best_is_drawable(head_of<5>({{1, 2, nan, 4, 5}}, blocks).second));
    CHECK_FALSE(best_is_drawable(head_of<5>({{1, 2, -nan, 4, 5}}, blocks).second));
    CHECK_FALSE(best_is_drawable(head_of<5>({{1, infinity, 3, 4, 5}}, blocks).second));
    CHECK_FALSE(best_is_drawable(best_key(-infinity, 3)));
  }
  const std::vector<float> halved = head_of<5>({{1, 2, 3, 4, 5}, 2, 0}, 2).first;
  for (int id = 0; id < 5; ++id) CHECK(halved[static_cast<std::size_t>(id)] == static_cast<float>(id + 1) / 2);
}
