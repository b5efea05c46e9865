// Every operation for two models that differ on every axis, compiled by nvcc with warnings as errors. SmolLM2-135M: weights of integers, RoPE, RMSNorm. The odd
// one: floats, norms of heads and branches, 7 query heads to one K/V head of 80, of which 32 values turn. Taking an entry's address is what instantiates it.
// All configs for all architectures: tools/kernel_resources.py.
#include <diecast/kernels/cuda_context.hpp>
#include <diecast/kernels/whole_token.hpp>

namespace diecast::kernels {

template <class... Ops>
void list(void (**out)()) {
  ((*out++ = reinterpret_cast<void (*)()>(&entry<Ops>)), ...);
}

inline constexpr ModelShape smollm2{.hidden = 576, .heads = {9, 3, 64}, .rotary = {64}, .head_norms = HeadNorms::none, .mlp = {1536, true, Activate::silu}, .vocab = 49152,
                                    .norm = NormKind::rms, .norm_before = true, .norm_after = false, .branches = Branches::in_order, .forms = forms(q4_1_form, q8_0_form), .team = {256, 2}};
inline constexpr ModelShape odd{.hidden = 342, .heads = {7, 1, 80}, .rotary = {32}, .head_norms = HeadNorms::all_heads, .mlp = {101, true, Activate::gelu}, .vocab = 65,
                                .norm = NormKind::layer, .norm_before = false, .norm_after = true, .branches = Branches::in_order, .forms = forms(f32_form, bf16_form), .team = {128, 3}};

void list_all(void (**out)());
void list_all(void (**out)()) {
  using A = ModelOperations<smollm2, Half>;
  list<A::Embed, A::QkvAppend, A::Attention, A::Output, A::GateUp, A::Down, A::Head, A::Draw, WholeToken<smollm2, Half>>(out);
  list<A::PrefillQkv, A::FlashAttention, A::PrefillOutput, A::PrefillGateUp, A::PrefillDown>(out);
  using B = ModelOperations<odd, Bfloat16>;
  list<B::Embed, B::ProjectQkv, B::NormRopeAppend, B::Attention, B::Output, B::GateUp, B::Down, B::Head, B::Draw, WholeToken<odd, Bfloat16>>(out);
  list<B::AddBranch, B::PrefillProject, B::FlashAttention, B::PrefillOutput, B::PrefillGateUp, B::PrefillDown>(out);
}

}  // namespace diecast::kernels
