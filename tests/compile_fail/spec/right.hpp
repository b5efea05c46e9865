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

// The same of GPT-2's kind. clang 14 cannot change the alternative of a variant in a constant expression, so a case begins with the one it needs.
constexpr diecast::Spec right_absolute{
    .hidden = 160, .layers = 6, .vocab = 2048, .context = 256,
    .attention = {.heads = 5, .kv_heads = 5, .head_dim = 32},
    .position = diecast::Absolute{.positions = 256},
    .norm = diecast::LayerNorm{.epsilon = 1e-5},
    .mlp = diecast::PlainMlp{.width = 640, .activation = diecast::Activation::gelu_tanh},
    .head = diecast::UntiedHead{}};
