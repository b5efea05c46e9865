// Whole models with weights of integers: near the reference, as near as eight bits of the activations allow; single kernels and whole tokens the
// same bits; and every format of the file beside others in one kernel.
#include "models.hpp"

#include "cpu/odd_models.hpp"
#include "inputs.hpp"

using namespace diecast;
using namespace diecast::testing;

namespace {

struct Integers32 : Blocks32 {
  static constexpr Format formats[] = {Format::q8_0, Format::q4_0, Format::q4_1, Format::q5_0, Format::f32};
};

// Matrices of these formats in turn, about as large as random_weights.hpp's.
Weights mixed(const Spec& spec, std::initializer_list<Format> formats) {
  Weights weights = random_weights(spec, 5);
  diecast_test::Numbers numbers(9);
  std::size_t next = 0;
  const auto in = [&](Tensor& tensor) {
    const Format format = formats.begin()[next++ % formats.size()];
    const auto name = tensor.name;
    tensor = diecast_test::random_tensor(format, static_cast<int>(tensor.rows), static_cast<int>(tensor.cols), numbers);
    tensor.name = name;
  };
  in(weights.embedding);
  for (LayerWeights& layer : weights.layers)
    for (LinearWeights* linear : {&layer.q, &layer.k, &layer.v, &layer.output, &*layer.gate, &layer.up, &layer.down}) in(linear->weight);
  return weights;
}

}  // namespace

TEST_CASE("models with integer weights of several formats: near the reference, the same bits in any company and in one kernel") {
  const Weights weights = mixed(Integers32::spec, {Format::q8_0, Format::q4_1, Format::q4_0, Format::q5_0, Format::f32});
  const Reference<double> reference(Integers32::spec, weights);
  const Emulated<Integers32, kernels::Half> single(weights, {.processors = 3, .rows = 6}),
      whole(weights, {.processors = 4, .rows = 16, .ways = {.whole = true}});
  const std::vector<int> ids = prompt_of(Integers32::spec, 19, 2);
  const LogitRows want = run_alone(reference, ids, 19), got = run_alone(single, ids, 19);
  double difference = 0, size = 0;
  for (std::size_t row = 0; row < want.size(); ++row)
    for (std::size_t id = 0; id < want[row].size(); ++id) {
      difference += std::pow(static_cast<double>(got[row][id]) - static_cast<double>(want[row][id]), 2);
      size += std::pow(static_cast<double>(want[row][id]), 2);
    }
  // 0.7 % of what goes into each product is lost by rounding to a 127th of the greatest of 32; twice that, over the root of the products' number.
  CHECK(std::sqrt(difference / size) <= 2 * 0.007 * std::sqrt(4.0 * Integers32::spec.layers + 1));
  CHECK((run_alone(single, ids, 4) == got));
  CHECK((run_alone(whole, ids, 5) == got));
}

TEST_CASE("a matrix of a format that the kernels are not compiled for is refused by name") {
  const Weights weights = mixed(Integers32::spec, {Format::q5_1});
  CHECK_THROWS_WITH(Emulated<Integers32>(weights), "tensor 'embedding' is Q5_1, which these kernels are not compiled for");
}
