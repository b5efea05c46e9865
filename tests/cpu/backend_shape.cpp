// Kernels that were compiled for a model's shape give the bits of those for any shape, and refuse a model of another shape or format.
#include "models.hpp"
#include "odd_models.hpp"

using namespace diecast;
using testing::prompt_of;
using testing::run_alone;

TEST_CASE("kernels for the exact shape and for any shape give the same bits") {
  constexpr Spec spec = testing::Blocks32::spec;
  constexpr Format formats[] = {Format::q4_1};
  const Weights weights = testing::weights_in(spec, {Format::q4_1, Format::q4_1, Format::q4_1, Format::q4_1}, 6);
  const std::vector<int> ids = prompt_of(spec, 37, 3);
  for (const cpu::Precision precision : {cpu::Precision::fast, cpu::Precision::balanced}) {
    const testing::LogitRows any = run_alone(testing::AnyShape<Format::q4_1>(spec, weights, {1, cpu::CacheType::f16, precision}), ids, 37);
    for (const int threads : {1, 2}) {
      const cpu::Cpu<cpu::shape_of(spec, formats)> exact(spec, weights, {threads, cpu::CacheType::f16, precision});
      for (const int chunk : {1, 5, 37}) CHECK((run_alone(exact, ids, chunk) == any));
    }
  }
}

TEST_CASE("kernels refuse a model that they were not compiled for") {
  constexpr Spec spec = testing::Blocks32::spec;
  constexpr Format formats[] = {Format::q4_1};
  using Exact = cpu::Cpu<cpu::shape_of(spec, formats)>;
  Spec wider = spec;
  std::get<GatedMlp>(wider.mlp).width = 192;
  const testing::MatrixFormats q4_1{Format::q4_1, Format::q4_1, Format::q4_1, Format::q4_1};
  CHECK_THROWS_WITH(Exact(wider, testing::weights_in(wider, q4_1, 6)), Catch::Contains("an MLP of 160") && Catch::Contains("and 192"));
  CHECK_THROWS_WITH(Exact(spec, testing::weights_in(spec, {Format::q4_1, Format::q4_1, Format::q8_0, Format::q4_1}, 6)), Catch::Contains("without the format Q8_0"));
}
