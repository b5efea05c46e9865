// The second unit. Its model differs on every axis: learned positions, LayerNorm with bias, plain MLP, an untied head, 7 query heads on one K/V head.
#include "every_header.hpp"

#include <vector>

#include "kernels/thread_block.hpp"
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
  using Operation = diecast::kernels::RmsNorm<diecast::kernels::Hidden{Model::spec.hidden}>;
  std::vector<float> row(static_cast<std::size_t>(Model::spec.hidden), 1.0f);
  const std::vector<float> weight(row.size(), 2.0f);
  diecast_test::launch<Operation>(1, {row.data(), weight.data(), row.data(), 0.0f});
  return {Model::spec.hidden, Model::spec.attention.heads / Model::spec.attention.kv_heads, row.front()};
}
