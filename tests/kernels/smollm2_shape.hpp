// SmolLM2-135M as the kernels see it: what tests of lists and of schedules begin with, and change.
#pragma once

#include <diecast/kernels/model_shape.hpp>

namespace diecast_test {

inline constexpr diecast::kernels::ModelShape smollm2{.hidden = 576,
                                                      .heads = {9, 3, 64},
                                                      .rotary = {64},
                                                      .head_norms = diecast::kernels::HeadNorms::none,
                                                      .mlp = {1536, true, diecast::kernels::Activate::silu},
                                                      .vocab = 49152,
                                                      .norm = diecast::kernels::NormKind::rms,
                                                      .norm_before = true,
                                                      .norm_after = false,
                                                      .branches = diecast::kernels::Branches::in_order,
                                                      .forms = diecast::kernels::forms(diecast::kernels::q4_1_form, diecast::kernels::q8_0_form),
                                                      .team = {256, 2}};

}  // namespace diecast_test
