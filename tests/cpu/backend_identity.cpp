// The design's promise on every odd spec with float weights: a sequence's logits are the same bits in any chunking, padding, batch and on any
// number of threads, and whether the compiler knew the shape.
#include "models.hpp"

#include "odd_specs.hpp"

using namespace diecast;
using testing::LogitRows;
using testing::prompt_of;
using testing::run_alone;
using Floats = testing::AnyShape<Format::f32>;

TEST_CASE("R6, P1, P5, P6: logits are the same bits in any chunking, padding, batch and on any number of threads") {
  for (const auto& [name, spec] : testing::odd_specs()) {
    INFO(name);
    const Weights weights = testing::random_weights(spec, 7);
    testing::check_identity([&](int threads) { return std::make_shared<const Floats>(spec, weights, cpu::Options{threads, cpu::CacheType::f16}); });
  }
  const Spec spec = testing::odd_specs()[4].second;  // with windows
  for (const cpu::CacheType cache : {cpu::CacheType::bf16, cpu::CacheType::f32, cpu::CacheType::q8}) {
    const Weights weights = testing::random_weights(spec, 7);
    testing::check_identity([&](int threads) { return std::make_shared<const Floats>(spec, weights, cpu::Options{threads, cache}); });
  }
}

TEST_CASE("logits may be asked for of any rows, and of none") {
  for (const auto& [name, spec] : testing::odd_specs()) {
    INFO(name);
    const Weights weights = testing::random_weights(spec, 7);
    const std::vector<int> ids = prompt_of(spec, 30, 3);
    for (const int threads : {1, 3}) {
      const Floats backend(spec, weights, {threads, cpu::CacheType::f16});
      const LogitRows whole = run_alone(backend, ids, 30);
      const auto context = backend.open(32);
      const int sequence = context->table().add();
      std::vector<Row> rows;
      std::vector<std::size_t> asked;
      for (int i = 0; i < 30; ++i) {
        const bool ask = i >= 10 && i % 3 == 1;
        if (ask) asked.push_back(static_cast<std::size_t>(i));
        rows.push_back({ids[static_cast<std::size_t>(i)], i, sequence, ask});
      }
      CHECK(context->forward(std::span<const Row>(rows).first(10)).values.empty());
      const Logits logits = context->forward(std::span<const Row>(rows).subspan(10));
      REQUIRE(logits.values.size() == asked.size() * static_cast<std::size_t>(spec.vocab));
      for (std::size_t i = 0; i < asked.size(); ++i) CHECK(testing::same_bits(testing::copy(logits.row(static_cast<int>(i))), whole[asked[i]]));
    }
  }
}

TEST_CASE("blocks that another sequence gave back, and positions that were cut off, are as good as new") {
  const Spec spec = testing::odd_specs()[0].second;
  const Floats backend(spec, testing::random_weights(spec, 7), {2, cpu::CacheType::f16});
  const std::vector<int> ids = prompt_of(spec, 20, 4);
  const LogitRows right = run_alone(backend, ids, 20);
  const auto context = backend.open(64);
  for (int round = 0; round < 3; ++round) {
    const std::vector<std::vector<int>> tokens{prompt_of(spec, 20 + round, 9), ids};
    const std::vector<int> sequences{context->table().add(), context->table().add()};
    CHECK(testing::same_bits(testing::copy(context->forward(pack(context->table(), sequences, tokens)).row(1)), right[19]));
    context->table().truncate(sequences[1], 7);
    const std::vector<std::vector<int>> again{std::vector<int>(ids.begin() + 7, ids.end())};
    CHECK(testing::same_bits(testing::copy(context->forward(pack(context->table(), std::span(sequences).last(1), again)).row(0)), right[19]));
    context->table().remove(sequences[0]);
    context->table().remove(sequences[1]);
  }
  CHECK(context->table().free_blocks() == 4);
}

TEST_CASE("a trace names the steps and changes nothing") {
  const Spec spec = testing::odd_specs()[0].second;
  const Floats backend(spec, testing::random_weights(spec, 7), {2, cpu::CacheType::f16});
  const std::vector<int> ids = prompt_of(spec, 5, 4);
  const auto context = backend.open(16);
  Trace trace;
  const std::vector<std::vector<int>> tokens{ids};
  const std::vector<int> sequences{context->table().add()};
  const std::vector<float> traced = testing::copy(context->forward(pack(context->table(), sequences, tokens), &trace).row(0));
  CHECK(testing::same_bits(traced, run_alone(backend, ids, 5)[4]));
  std::vector<std::string> names;
  for (const Trace::Span& span : trace.spans()) names.push_back(span.name);
  CHECK((names == std::vector<std::string>{"embed", "block", "block", "head"}));
}
