// A model that differs from the configs on every axis: floats, norms of heads and branches, 7 query heads to one K/V head of 80, of which 32 values turn.
#include "every_kernel.cuh"

namespace diecast::kernels {

inline constexpr ModelShape odd{.hidden = 342, .heads = {7, 1, 80}, .rotary = {32}, .head_norms = HeadNorms::all_heads, .mlp = {101, true, Activate::gelu}, .vocab = 65,
                                .norm = NormKind::layer, .norm_before = false, .norm_after = true, .branches = Branches::in_order, .forms = forms(f32_form, bf16_form), .team = {128, 3}};

}  // namespace diecast::kernels

DIECAST_KERNELS(diecast::kernels::Launched<diecast::kernels::odd, diecast::kernels::Bfloat16>)
