// What every consumer compiles: the core alone, used as a stranger would. It prints what the test compares.
#include <iostream>
#include <string>

#include <diecast/diecast.hpp>

namespace {

struct Model {
  static constexpr char name[] = "a model of mine";
  static constexpr diecast::Spec spec{
      .hidden = 576, .layers = 30, .vocab = 49152, .context = 8192,
      .attention = {.heads = 9, .kv_heads = 3, .head_dim = 64},
      .position = diecast::Rope{.theta = 100'000},
      .norm = diecast::RmsNorm{.epsilon = 1e-5},
      .mlp = diecast::GatedMlp{.width = 1536, .activation = diecast::Activation::silu},
      .head = diecast::TiedHead{}};
};
static_assert(diecast::possible<Model>);

}  // namespace

int main() {
  diecast::Spec other = Model::spec;
  other.attention.kv_heads = 4;
  for (const std::string& difference : diecast::differences(Model::spec, other)) std::cout << difference << '\n';
  try {
    diecast::check_file(other);
  } catch (const diecast::Error& error) {
    std::cout << error.what() << '\n';
  }
}
