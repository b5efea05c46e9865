// The second unit. Its model differs on every axis: learned positions, LayerNorm with bias, plain MLP, an untied head, 7 query heads on one K/V head.
#include "every_header.hpp"

#include "normalised.hpp"
#include "two_models.hpp"

namespace {

struct Model {  // the name of the other unit's model, on purpose
  static constexpr diecast::Spec spec{
      .hidden = 70, .layers = 2, .vocab = 4097, .context = 64,
      .attention = {.heads = 7, .kv_heads = 1, .head_dim = 80, .qkv_bias = true},
      .position = diecast::Absolute{.positions = 64},
      .norm = diecast::LayerNorm{.epsilon = 1e-6},
      .mlp = diecast::PlainMlp{.width = 342, .activation = diecast::Activation::gelu_tanh, .bias = true},
      .head = diecast::UntiedHead{.bias = true}};
};

}  // namespace

Facts facts_of_b() {
  return {Model::spec.hidden, Model::spec.attention.heads / Model::spec.attention.kv_heads, diecast_test::normalised<Model::spec.hidden>()};
}
