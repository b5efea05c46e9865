// The activations of an MLP.
#pragma once

#include <diecast/kernels/context.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

enum class Activate { silu, gelu, gelu_tanh, relu };

// Abramowitz and Stegun 7.1.26, absolute error 1.5e-7; with the rounding of its terms, which cancel near 0, 7e-7 at most.
template <ExecutionContext C>
DIECAST_DEVICE float erf(C& ctx, float x) {
  const float size = x < 0 ? -x : x;
  const float t = ctx.divide(1.0f, ctx.fma(0.3275911f, size, 1.0f));
  float p = 1.061405429f;
  p = ctx.fma(p, t, -1.453152027f);
  p = ctx.fma(p, t, 1.421413741f);
  p = ctx.fma(p, t, -0.284496736f);
  p = ctx.fma(p, t, 0.254829592f);
  const float value = 1.0f - p * t * ctx.exp2(-1.44269504f * size * size);
  return x < 0 ? -value : value;
}

template <Activate activation, ExecutionContext C>
DIECAST_DEVICE float activate(C& ctx, float x) {
  if constexpr (activation == Activate::silu) return ctx.divide(x, 1.0f + ctx.exp2(-1.44269504f * x));
  if constexpr (activation == Activate::gelu) return 0.5f * x * (1.0f + erf(ctx, x * 0.70710678f));
  if constexpr (activation == Activate::gelu_tanh) return 0.5f * x * (1.0f + ctx.tanh(0.79788456f * ctx.fma(x * x * x, 0.044715f, x)));
  if constexpr (activation == Activate::relu) return x < 0 ? 0.0f : x;
}

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
