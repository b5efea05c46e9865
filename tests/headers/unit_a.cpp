// The first of two units that include every public header (B1). Its model: SmolLM2's numbers.
#include "every_header.hpp"

#include "normalised.hpp"
#include "two_models.hpp"

namespace {

struct Model {
  static constexpr diecast::Spec spec{
      .hidden = 576, .layers = 30, .vocab = 49152, .context = 8192,
      .attention = {.heads = 9, .kv_heads = 3, .head_dim = 64},
      .position = diecast::Rope{.theta = 100'000},
      .norm = diecast::RmsNorm{.epsilon = 1e-5},
      .mlp = diecast::GatedMlp{.width = 1536, .activation = diecast::Activation::silu},
      .head = diecast::TiedHead{}};
};

}  // namespace

Facts facts_of_a() {
  return {Model::spec.hidden, Model::spec.attention.heads / Model::spec.attention.kv_heads, diecast_test::normalised<Model::spec.hidden>()};
}

int main() {
  const Facts a = facts_of_a(), b = facts_of_b();
  const bool right = a.hidden == 576 && a.group == 3 && a.normalised == 2.0f && b.hidden == 70 && b.group == 7 && b.normalised == 2.0f;
  return right ? 0 : 1;
}
