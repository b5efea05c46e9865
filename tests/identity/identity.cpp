#include <diecast/identity/identity.hpp>

#include <catch2/catch.hpp>

#include "odd_specs.hpp"
#include "random_weights.hpp"

using namespace diecast;

namespace {

Model model() {
  Model one;
  one.spec = testing::odd_specs()[0].second;
  one.weights = testing::random_weights(one.spec, 3);
  one.tokenizer.pieces = {"a", "b", "ab"};
  one.tokenizer.merges = {"a b"};
  one.tokenizer.eos = 1;
  one.chat_template = "{{ messages }}";
  one.generation.temperature = 0.5;
  one.generation.eos = {1};
  return one;
}

}  // namespace

TEST_CASE("SHA-256 is SHA-256") {  // of no bytes: FIPS 180-4
  Sha256 empty;
  CHECK(empty.hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_CASE("equal models have equal identities") {
  CHECK(identity_of(model()).whole == identity_of(model()).whole);
}

TEST_CASE("each part changes its own digest and the whole, and no other") {
  const Identity before = identity_of(model());
  const auto changes = [&](auto change) {
    Model other = model();
    change(other);
    const Identity after = identity_of(other);
    CHECK(after.whole != before.whole);
    return std::vector<bool>{after.weights != before.weights, after.tokenizer != before.tokenizer, after.chat_template != before.chat_template,
                             after.generation != before.generation};
  };
  using Changed = std::vector<bool>;
  CHECK(changes([](Model& m) { m.weights = testing::random_weights(m.spec, 4); }) == Changed{true, false, false, false});
  CHECK(changes([](Model& m) { std::swap(m.weights.layers[0].q, m.weights.layers[0].output); }) == Changed{true, false, false, false});
  CHECK(changes([](Model& m) { m.tokenizer.pieces[2] = "ba"; }) == Changed{false, true, false, false});
  CHECK(changes([](Model& m) { m.tokenizer.pieces = {"a", "b", "a", "b"}; }) == Changed{false, true, false, false});
  CHECK(changes([](Model& m) { m.tokenizer.add_bos = false; }) == Changed{false, true, false, false});
  CHECK(changes([](Model& m) { m.chat_template = "{{ messages }} "; }) == Changed{false, false, true, false});
  CHECK(changes([](Model& m) { m.chat_template.reset(); }) == Changed{false, false, true, false});
  CHECK(changes([](Model& m) { m.generation.temperature = 0.25; }) == Changed{false, false, false, true});
  CHECK(changes([](Model& m) { m.generation.eos = {1, 2}; }) == Changed{false, false, false, true});
}
