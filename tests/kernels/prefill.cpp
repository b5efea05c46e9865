// A prompt's products on tensor cores: exact on whole numbers, else within the bound that rounding to 16 bits gives; then whole models, whose
// prompts go through them.
#include "models.hpp"
#include "products.hpp"

using namespace diecast;
using namespace diecast::kernels;
using namespace diecast_test;
using diecast::testing::OddConfig;

namespace {

template <Extents extents, FormSet set, class Element, Team team>
int wrong_tiles(Format format, int rows, int blocks, bool exact, std::uint64_t seed) {
  using Op = PrefillLinear<extents, Ending::add, set, Element, team>;
  Numbers numbers(seed);
  const Tensor tensor = random_tensor(format, extents.out, extents.in, numbers, exact);
  const std::vector<float> weights = decoded(tensor), bias = numbers.whole(extents.out, 5);
  const std::vector<float> x = exact ? numbers.whole(rows * extents.in, 9) : numbers.reals(rows * extents.in),
                           before = numbers.whole(rows * extents.out, 7);
  const Matrix<set> matrix(tensor, bias);
  const Step step = Step::of(rows);
  const Constants<float> in(x);
  diecast_test::Floats out(before);
  const typename Op::Params params{step.rows(), matrix.linear(), in.data(), out.data(), 2.0f};
  if (rows == 33)
    launch<Op>(blocks, params);
  else
    launch_once<Op>(blocks, params);
  const std::vector<float> got = out.all();
  int wrong = 0;
  for (int row = 0; row < rows; ++row)
    for (int o = 0; o < extents.out; ++o) {
      double sum = static_cast<double>(bias[static_cast<std::size_t>(o)]), size = 0;
      for (int i = 0; i < extents.in; ++i) {
        const double product = static_cast<double>(weights[static_cast<std::size_t>(o * extents.in + i)]) *
                               static_cast<double>(x[static_cast<std::size_t>(row * extents.in + i)]);
        sum += product;
        size += std::abs(product);
      }
      const auto at = static_cast<std::size_t>(row * extents.out + o);
      // Two factors, each rounded to 11 bits, or 8; sums of a product's terms: k * 2^-23 (kernels/context.hpp).
      const double unit = std::is_same_v<Element, Half> ? 0x1p-10 : 0x1p-7,
                   bound = exact ? 0 : 2 * ((unit + extents.in * 0x1p-23) * size + 0x1p-20);
      wrong += !within(got[at], static_cast<double>(before[at]) + 2 * sum, bound);
    }
  return wrong;
}

template <Extents extents, FormSet set, class Element, Team team>
int sweep(const std::vector<Format>& formats, bool with_exact, std::uint64_t seed) {
  int cases = 0;
  for (const Format format : formats)
    for (const int rows : {1, 16, 33, 70})
      for (const int blocks : {1, 4})
        for (const bool exact : {true, false}) {
          if (exact && !with_exact) continue;
          INFO(layout(format).name << " [" << extents.out << ", " << extents.in << "], " << rows << " rows, " << blocks << " blocks, exact "
                                   << exact);
          CHECK(wrong_tiles<extents, set, Element, team>(format, rows, blocks, exact, seed + static_cast<std::uint64_t>(cases)) == 0);
          ++cases;
        }
  return cases;
}

// How far the logits of a prompt on tensor cores are from the reference's, relative; and whether a batch and other numbers of SMs give the same bits.
template <class Config, class CacheElement = float>
double distance_of_prompt(std::uint64_t seed) {
  const Weights weights = testing::random_weights(Config::spec, seed);
  const Reference<double> reference(Config::spec, weights);
  const Emulated<Config, CacheElement> few(weights, {.processors = 2, .rows = 40, .ways = {.tensor_cores = true}}),
      many(weights, {.processors = 7, .rows = 64, .ways = {.tensor_cores = true}});
  const std::vector<int> ids = testing::prompt_of(Config::spec, 37, static_cast<int>(seed));
  const testing::LogitRows want = testing::run_alone(reference, ids, 37), got = testing::run_alone(few, ids, 37);
  CHECK((testing::run_alone(many, ids, 37) == got));
  CHECK((testing::run_alone(few, ids, 18)[35] == got[35]));  // in pieces of 18, all of them on tensor cores
  CHECK(testing::check_batches(many, ids, {37, 18, 25}, got) == 6);
  double difference = 0, size = 0;
  for (std::size_t row = 0; row < want.size(); ++row)
    for (std::size_t id = 0; id < want[row].size(); ++id) {
      difference += std::pow(static_cast<double>(got[row][id]) - static_cast<double>(want[row][id]), 2);
      size += std::pow(static_cast<double>(want[row][id]), 2);
    }
  return std::sqrt(difference / size);
}

}  // namespace

TEST_CASE("prompts on tensor cores: weights of floats") {
  constexpr FormSet set = forms(f32_form, f16_form, bf16_form);
  const std::vector<Format> formats{Format::f32, Format::f16, Format::bf16};
  CHECK(sweep<Extents{33, 46}, set, Half, Team{64, 1}>(formats, true, 1) == 48);
  CHECK(sweep<Extents{7, 300}, set, Bfloat16, Team{32, 1}>(formats, true, 2) == 48);
  CHECK(sweep<Extents{70, 520}, set, Half, Team{96, 1}>({Format::f16}, true, 3) == 16);
}

TEST_CASE("prompts on tensor cores: weights of integers") {
  constexpr FormSet set = forms(q8_0_form, q4_0_form, q4_1_form, q5_0_form);
  CHECK(sweep<Extents{19, 96}, set, Half, Team{64, 1}>({Format::q8_0, Format::q4_0, Format::q4_1, Format::q5_0}, true, 11) == 64);
  CHECK(sweep<Extents{9, 512}, forms(q4_k_form, q6_k_form), Half, Team{64, 1}>({Format::q4_k, Format::q6_k}, false, 12) == 16);
}

TEST_CASE("prompts of whole models on tensor cores: near the reference, the same bits for any number of SMs and other pieces") {
  // Each product loses 2^-11 of its factors; a dozen of them stand behind one another.
  CHECK(distance_of_prompt<OddConfig<0>>(1) <= 4e-3);
  CHECK(distance_of_prompt<OddConfig<1>>(2) <= 4e-3);
  CHECK(distance_of_prompt<OddConfig<7>>(3) <= 4e-3);
}
TEST_CASE("prompts of whole models on tensor cores: norms of heads and of branches, windows, soft caps") {
  CHECK(distance_of_prompt<OddConfig<4>, Half>(4) <= 4e-3);  // a cache of halves: its tiles are copied as they lie
  CHECK(distance_of_prompt<OddConfig<6>>(5) <= 4e-3);
}
