// A model that is possible; every case breaks one thing of it.
#pragma once

#include <diecast/spec/check.hpp>

constexpr diecast::Spec right{
    .hidden = 576, .layers = 30, .vocab = 49152, .context = 8192,
    .attention = {.heads = 9, .kv_heads = 3, .head_dim = 64},
    .position = diecast::Rope{.theta = 100'000},
    .norm = diecast::RmsNorm{.epsilon = 1e-5},
    .mlp = diecast::GatedMlp{.width = 1536, .activation = diecast::Activation::silu},
    .head = diecast::TiedHead{}};
