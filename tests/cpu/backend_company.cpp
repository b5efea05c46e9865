// The CPU path keeps the promise for whole answers: alone, batched, cached, evicted and computed again, forked, beside a cancelled neighbour; with
// integer products and float ones, and every type of cache.
#include "models.hpp"
#include "odd_models.hpp"

#include <company.hpp>
#include <scripted.hpp>

using namespace diecast;

TEST_CASE("P5, V5: answers are the same alone and in any company") {
  const Spec spec = testing::Blocks32::spec;
  std::vector<std::string> pieces;
  for (int id = 0; id < spec.vocab; ++id) pieces.push_back("p" + std::to_string(id));
  const auto tokenizer = std::make_shared<scripted::Toy>(pieces);
  const Weights weights = testing::weights_in(spec, {Format::q4_1, Format::q4_1, Format::q4_1, Format::q4_1}, 6);
  for (const cpu::CacheType cache : {cpu::CacheType::f16, cpu::CacheType::bf16, cpu::CacheType::f32, cpu::CacheType::q8}) {
    INFO(cpu::cache_type_name(cache));
    testing::check_company(std::make_shared<const testing::AnyShape<Format::q4_1>>(spec, weights, cpu::Options{2, cache, cpu::Precision::exact}), tokenizer);
  }
}
