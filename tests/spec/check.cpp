#include <diecast/spec/check.hpp>

#include <catch2/catch.hpp>

#include <cmath>

#include "odd_specs.hpp"

using namespace diecast;

namespace {

// The sentence that a change of the spec brings, or "" where the model is possible.
template <class Change>
std::string refusal(Spec spec, Change change) {
  change(spec);
  try {
    check_file(spec);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

static_assert((check(testing::rope_spec), check(testing::absolute_spec), true));

TEST_CASE("possible models pass") {
  CHECK(refusal(testing::rope_spec, [](Spec&) {}) == "");
  CHECK(refusal(testing::rope_spec, [](Spec& s) { s.attention.heads = 7, s.attention.kv_heads = 1, s.attention.head_dim = 80; }) == "");
  CHECK(refusal(testing::rope_spec, [](Spec& s) { s.position = Rope{.theta = 1e4, .rotary_dim = 8, .scaling = Llama3Scaling{32, 1, 4, 8192}}; }) == "");
}

TEST_CASE("a broken rule is a sentence with both values") {
  CHECK(refusal(testing::rope_spec, [](Spec& s) { s.attention.kv_heads = 4; }) ==
        "impossible model: attention.heads must be a multiple of attention.kv_heads, since each KV head serves as many query heads (values: 7 and 4)");
  CHECK(refusal(testing::absolute_spec, [](Spec& s) { s.context = 41; }) ==
        "impossible model: context must be at most position.positions, since every position needs its row of the table (values: 41 and 40)");
  CHECK(refusal(testing::rope_spec, [](Spec& s) { s.position = Rope{.theta = 1e4, .rotary_dim = 12}; }) ==
        "impossible model: rope rotary_dim must be at least 2 and at most attention.head_dim (values: 12 and 10)");
  CHECK(refusal(testing::rope_spec, [](Spec& s) { s.position = Rope{.theta = 1e4, .rotary_dim = 9}; }) ==
        "impossible model: rope rotary_dim must be a multiple of 2, since values turn in pairs (values: 9 and 2)");
}

TEST_CASE("zero, negative and huge numbers are refused") {
  for (int bad : {0, -1, -2147483647, 1 << 25}) {
    INFO(bad);
    CHECK_THAT(refusal(testing::rope_spec, [&](Spec& s) { s.hidden = bad; }), Catch::Contains("hidden must be"));
    CHECK_THAT(refusal(testing::rope_spec, [&](Spec& s) { s.layers = bad; }), Catch::Contains("layers must be"));
    CHECK_THAT(refusal(testing::rope_spec, [&](Spec& s) { s.vocab = bad; }), Catch::Contains("vocab must be"));
    CHECK_THAT(refusal(testing::rope_spec, [&](Spec& s) { s.context = bad; }), Catch::Contains("context must be"));
    CHECK_THAT(refusal(testing::rope_spec, [&](Spec& s) { s.attention.heads = bad; }), Catch::Contains("attention.heads must be"));
    CHECK_THAT(refusal(testing::rope_spec, [&](Spec& s) { s.attention.kv_heads = bad; }), Catch::Contains("attention.kv_heads must be"));
    CHECK_THAT(refusal(testing::rope_spec, [&](Spec& s) { s.attention.head_dim = bad; }), Catch::Contains("attention.head_dim must be"));
    CHECK_THAT(refusal(testing::rope_spec, [&](Spec& s) { s.mlp = GatedMlp{.width = bad, .activation = Activation::silu}; }), Catch::Contains("mlp.width must be"));
    CHECK_THAT(refusal(testing::absolute_spec, [&](Spec& s) { s.position = Absolute{.positions = bad}; }), Catch::Contains("position.positions must be"));
  }
  for (double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    INFO(bad);
    CHECK_THAT(refusal(testing::rope_spec, [&](Spec& s) { s.position = Rope{.theta = bad}; }), Catch::Contains("rope theta must be"));
    CHECK_THAT(refusal(testing::rope_spec, [&](Spec& s) { s.position = Rope{.theta = 1e4, .scaling = LinearScaling{bad}}; }), Catch::Contains("factor must be"));
    CHECK_THAT(refusal(testing::rope_spec, [&](Spec& s) { s.norm = RmsNorm{.epsilon = bad}; }), Catch::Contains("norm.epsilon must be"));
    CHECK_THAT(refusal(testing::rope_spec, [&](Spec& s) { s.attention.scale = bad; }), Catch::Contains("attention.scale must be"));
    CHECK_THAT(refusal(testing::rope_spec, [&](Spec& s) { s.embedding_scale = bad; }), Catch::Contains("embedding_scale must be"));
  }
}
