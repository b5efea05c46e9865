// B4 and B5: the core's umbrella header, Hana's introspection and the kernels in one .cu file under nvcc -std=c++20.
#include <diecast/diecast.hpp>

#include <diecast/kernels/cuda_context.hpp>
#include <diecast/kernels/linear_residual.hpp>

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

// The fields of a spec, counted by introspection: host code that nvcc compiles.
int field_count() {
  int count = 0;
  boost::hana::for_each(Model::spec, [&](auto) { ++count; });
  return count;
}

// A kernel whose shape is taken from a model's spec. A launch, as a program writes it.
using Down = diecast::kernels::LinearResidual<diecast::kernels::Extents{Model::spec.hidden, std::get<diecast::GatedMlp>(Model::spec.mlp).width}, diecast::kernels::Ending::add,
                                              diecast::kernels::forms(diecast::kernels::q4_1_form), diecast::kernels::Team{256, 2}>;
void down(int blocks, const Down::Params& params, cudaStream_t stream) {
  diecast::kernels::entry<Down><<<static_cast<unsigned>(blocks), Down::threads, diecast::kernels::dynamic_shared_bytes<Down>, stream>>>(params);
}
