// The reference keeps the design's promise on every odd spec: a sequence's logits are the same bits alone or in any company.
#include <diecast/reference/reference.hpp>

#include <catch2/catch.hpp>

#include "bit_identity.hpp"
#include "odd_specs.hpp"
#include "random_weights.hpp"

using namespace diecast;
using testing::copy;
using testing::LogitRows;
using testing::prompt_of;
using testing::same_bits;

namespace {

template <class Real>
void check_identity(const Spec& spec) {
  const Weights weights = testing::random_weights(spec, 7);
  testing::check_identity([&](int threads) { return std::make_shared<const Reference<Real>>(spec, weights, threads); });
}

}  // namespace

TEST_CASE("R6, P1, P5, P6: logits are the same bits in any chunking, padding, batch and on any number of threads") {
  for (const auto& [name, spec] : testing::odd_specs()) {
    INFO(name);
    check_identity<float>(spec);
  }
}

TEST_CASE("the same in double") { check_identity<double>(testing::odd_specs()[0].second); }

TEST_CASE("P5: another row's tokens change nothing") {
  const Spec spec = testing::odd_specs()[0].second;
  const Reference<float> backend(spec, testing::random_weights(spec, 7), 2);
  std::vector<std::vector<float>> first;
  for (int seed : {1, 2}) {
    const auto context = backend.open(64);
    const std::vector<std::vector<int>> tokens{prompt_of(spec, 9, 5), prompt_of(spec, 12, seed)};
    const std::vector<int> sequences{context->table().add(), context->table().add()};
    first.push_back(copy(context->forward(pack(context->table(), sequences, tokens)).row(0)));
  }
  CHECK(same_bits(first[0], first[1]));
}

TEST_CASE("blocks that another sequence gave back are as good as new") {
  const Spec spec = testing::odd_specs()[0].second;
  const Reference<float> backend(spec, testing::random_weights(spec, 7), 1);
  const std::vector<int> ids = prompt_of(spec, 20, 4);
  const auto context = backend.open(64);
  LogitRows answers;
  for (int round = 0; round < 3; ++round) {
    const std::vector<std::vector<int>> tokens{prompt_of(spec, 20 + round, 9), ids};
    const std::vector<int> sequences{context->table().add(), context->table().add()};
    answers.push_back(copy(context->forward(pack(context->table(), sequences, tokens)).row(1)));
    context->table().remove(sequences[0]);
    context->table().remove(sequences[1]);
  }
  CHECK(context->table().free_blocks() == 4);
  CHECK(same_bits(answers[0], answers[1]));
  CHECK(same_bits(answers[0], answers[2]));
}
