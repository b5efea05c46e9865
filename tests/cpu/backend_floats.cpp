// The whole backend with float weights against the reference in double, on every odd spec; and the design's promise, that a sequence's logits are
// the same bits alone or in any company.
#include "models.hpp"

#include "odd_specs.hpp"

using namespace diecast;
using testing::LogitRows;
using testing::prompt_of;
using testing::run_alone;
using Floats = testing::AnyShape<Format::f32, Format::f16, Format::bf16>;

TEST_CASE("float weights and an f32 cache give the reference's logits") {
  for (const auto& [name, spec] : testing::odd_specs()) {
    INFO(name);
    const Weights weights = testing::random_weights(spec, 3);
    const std::vector<int> ids = prompt_of(spec, 37, 2);
    const LogitRows right = run_alone(Reference<double>(spec, weights), ids, 37);
    // Every product rounds by some 2^-24 of what it adds up; the reference in float stands for how far that carries. Sixteen lanes
    // and other exponentials differ from it by as much again, so the bound is a few times its own distance.
    const double single = testing::distance(run_alone(Reference<float>(spec, weights), ids, 37), right).greatest;
    const double here = testing::distance(run_alone(Floats(spec, weights, {1, cpu::CacheType::f32}), ids, 37), right).greatest;
    CAPTURE(single, here);
    CHECK(single <= 2e-6);
    CHECK(here <= 4 * single + 2e-7);
  }
}

TEST_CASE("f16, bf16 and q8 caches, f16 and bf16 weights cost their own rounding and no more") {
  for (const auto& [name, spec] : testing::odd_specs()) {
    INFO(name);
    const std::vector<int> ids = prompt_of(spec, 37, 2);
    for (const auto& [cache, step] : {std::pair(cpu::CacheType::f16, 0x1p-11), std::pair(cpu::CacheType::bf16, 0x1p-8), std::pair(cpu::CacheType::q8, 0x1p-7)}) {
      const Weights weights = testing::random_weights(spec, 3);
      const LogitRows right = run_alone(Reference<double>(spec, weights), ids, 37);
      const double relative = testing::distance(run_alone(Floats(spec, weights, {1, cache}), ids, 37), right).relative;
      CAPTURE(step, relative);
      CHECK(relative <= step * std::sqrt(2.0 * spec.layers));  // keys and values of each layer, rounded by half a step at most
      CHECK(relative >= step / 1000);
    }
    for (const Format format : {Format::f16, Format::bf16}) {  // the reference reads the same rounded weights
      const Weights weights = testing::weights_in(spec, {format, format, format, format}, 4);
      const LogitRows right = run_alone(Reference<double>(spec, weights), ids, 37);
      CHECK(testing::distance(run_alone(Floats(spec, weights, {1, cpu::CacheType::f32}), ids, 37), right).greatest <= 8e-6);
    }
  }
}
