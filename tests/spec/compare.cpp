#include <diecast/spec/compare.hpp>

#include <catch2/catch.hpp>

#include "odd_specs.hpp"

using namespace diecast;
using Sentences = std::vector<std::string>;

TEST_CASE("F11: equal specs have no differences") {
  CHECK(differences(testing::rope_spec, testing::rope_spec).empty());
  CHECK(differences(testing::absolute_spec, testing::absolute_spec).empty());
}

TEST_CASE("F11: every differing field is named with both values") {
  Spec file = testing::rope_spec;
  file.hidden = 32;
  file.layers = 3;
  file.attention.kv_heads = 7;
  file.norm = RmsNorm{.epsilon = 1e-6};
  file.mlp = GatedMlp{.width = 101, .activation = Activation::gelu};
  CHECK(differences(testing::rope_spec, file) == Sentences{
                                                  "hidden: compiled 46, file 32",
                                                  "layers: compiled 2, file 3",
                                                  "attention.kv_heads: compiled 1, file 7",
                                                  "norm.epsilon: compiled 1e-05, file 1e-06",
                                                  "mlp.activation: compiled silu, file gelu",
                                              });
}

TEST_CASE("F11: another alternative and absent fields") {
  Spec file = testing::rope_spec;
  file.position = Absolute{.positions = 8192};
  file.logit_soft_cap = 30.0;
  CHECK(differences(testing::rope_spec, file) == Sentences{
                                                  "position: compiled Rope, file Absolute",
                                                  "position.theta: compiled 10000, file absent",
                                                  "logit_soft_cap: compiled absent, file 30",
                                                  "position.positions: compiled absent, file 8192",
                                              });
  Spec scaled = testing::rope_spec;
  scaled.position = Rope{.theta = 10'000, .scaling = LinearScaling{4}};
  CHECK(differences(testing::rope_spec, scaled) == Sentences{
                                                    "position.scaling: compiled absent, file LinearScaling",
                                                    "position.scaling.factor: compiled absent, file 4",
                                                });
}

TEST_CASE("comparison agrees with ==, for a change of any one field") {
  // Every member of every part, changed alone: the visitor must not have forgotten one.
  const std::vector<Spec> changed = [] {
    std::vector<Spec> specs;
    const auto add = [&](auto change) {
      Spec s = testing::absolute_spec;
      s.norm = LayerNorm{.epsilon = 1e-6};
      s.head = UntiedHead{.bias = true};
      change(s);
      specs.push_back(s);
    };
    add([](Spec& s) { s.hidden++; });
    add([](Spec& s) { s.layers++; });
    add([](Spec& s) { s.vocab++; });
    add([](Spec& s) { s.context--; });
    add([](Spec& s) { s.attention.heads = 14; });
    add([](Spec& s) { s.attention.kv_heads = 1; });
    add([](Spec& s) { s.attention.head_dim++; });
    add([](Spec& s) { s.attention.qkv_bias = false; });
    add([](Spec& s) { s.attention.output_bias = false; });
    add([](Spec& s) { s.attention.qk_norm = QkNorm::each_head; });
    add([](Spec& s) { s.attention.scale = 1.0; });
    add([](Spec& s) { s.attention.soft_cap = 1.0; });
    add([](Spec& s) { s.attention.window = SlidingWindow{.length = 4}; });
    add([](Spec& s) { s.attention.window = SlidingWindow{.length = 4, .full_every = 6}; });
    add([](Spec& s) { s.attention.window = SlidingWindow{.length = 4, .full_every = 6, .rope = Rope{.theta = 1e4}}; });
    add([](Spec& s) { s.position = Absolute{.positions = 41}; });
    add([](Spec& s) { s.position = Rope{.theta = 1e4}; });
    add([](Spec& s) { s.position = Rope{.theta = 1e4, .rotary_dim = 2}; });
    add([](Spec& s) { s.position = Rope{.theta = 1e4, .scaling = Llama3Scaling{8, 1, 4, 8192}}; });
    add([](Spec& s) { s.position = Rope{.theta = 1e4, .scaling = Llama3Scaling{8, 1, 5, 8192}}; });
    add([](Spec& s) { s.norm = LayerNorm{.epsilon = 1e-5}; });
    add([](Spec& s) { s.norm = LayerNorm{.epsilon = 1e-6, .bias = false}; });
    add([](Spec& s) { s.norm = RmsNorm{.epsilon = 1e-6}; });
    add([](Spec& s) { s.mlp = PlainMlp{.width = 102, .activation = Activation::gelu_tanh, .bias = true}; });
    add([](Spec& s) { s.mlp = PlainMlp{.width = 101, .activation = Activation::relu, .bias = true}; });
    add([](Spec& s) { s.mlp = PlainMlp{.width = 101, .activation = Activation::gelu_tanh}; });
    add([](Spec& s) { s.mlp = GatedMlp{.width = 101, .activation = Activation::gelu_tanh, .bias = true}; });
    add([](Spec& s) { s.head = UntiedHead{}; });
    add([](Spec& s) { s.head = TiedHead{.bias = true}; });
    add([](Spec& s) { s.head = TiedHead{}; });
    add([](Spec& s) { s.norm_placement = NormPlacement::before_and_after; });
    add([](Spec& s) { s.norm_placement = NormPlacement::after; });
    add([](Spec& s) { s.attention.qk_norm = QkNorm::all_heads; });
    add([](Spec& s) { s.residual = Residual::parallel; });
    add([](Spec& s) { s.residual = Residual::parallel_shared_norm; });
    add([](Spec& s) { s.residual_scale = 0.22; });
    add([](Spec& s) { s.logit_divisor = 8; });
    add([](Spec& s) { s.position = Rope{.theta = 1e4, .scaling = YarnScaling{4, 8192}}; });
    add([](Spec& s) { s.position = Rope{.theta = 1e4, .scaling = YarnScaling{4, 8192, 16}}; });
    add([](Spec& s) { s.position = Rope{.theta = 1e4, .scaling = YarnScaling{4, 8192, 32, 2}}; });
    add([](Spec& s) { s.position = Rope{.theta = 1e4, .scaling = YarnScaling{.factor = 4, .original_context = 8192, .attention_factor = 1.5}}; });
    add([](Spec& s) { s.embedding_scale = 2.0; });
    add([](Spec& s) { s.logit_soft_cap = 2.0; });
    return specs;
  }();
  for (std::size_t i = 0; i < changed.size(); ++i)
    for (std::size_t j = 0; j < changed.size(); ++j) {
      INFO(i << " against " << j);
      CHECK(differences(changed[i], changed[j]).empty() == (i == j));
      CHECK((changed[i] == changed[j]) == (i == j));
    }
}
