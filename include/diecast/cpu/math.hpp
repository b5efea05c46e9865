// exp, tanh and erf for sixteen lanes, and the activations made of them. All lanes take the same steps, so a value's result does not depend on
// where it stands.
#pragma once

#include <limits>

#include <diecast/cpu/lanes.hpp>
#include <diecast/spec/spec.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::cpu::inline DIECAST_ISA {

// e^x with a relative error of 2e-7 at most; exactly 1 at 0; 0 below -87; NaN stays NaN. 2^n * e^r with |r| <= ln(2) / 2, e^r by its series
// to the seventh power (the next term is below 2e-8).
inline Floats exp(Floats x) {
  const Floats low = broadcast(-87.3F);
  const Floats bounded = larger(low, smaller(broadcast(88.3F), x));  // in this order NaN comes through
  const Floats magic = broadcast(12'582'912.0F);              // 1.5 * 2^23: adding it rounds to a whole number
  const Floats shifted = fma(bounded, broadcast(1.44269504F), magic);
  const Floats n = shifted - magic;
  Floats r = fma(n, broadcast(-0.693359375F), bounded);       // ln 2 in two parts, the first exact in few bits
  r = fma(n, broadcast(2.12194440e-4F), r);
  Floats p = broadcast(1.0F / 5040);
  p = fma(p, r, broadcast(1.0F / 720));
  p = fma(p, r, broadcast(1.0F / 120));
  p = fma(p, r, broadcast(1.0F / 24));
  p = fma(p, r, broadcast(1.0F / 6));
  p = fma(p, r, broadcast(0.5F));
  p = fma(p, r, broadcast(1.0F));
  p = fma(p, r, broadcast(1.0F));
  const Floats power = as_floats(shift_left<23>(as_ints(shifted) - as_ints(magic) + broadcast_int(127)));
  return where_less(x, low, broadcast(0.0F), p * power);
}

// The absolute error is 3e-7 at most.
inline Floats tanh(Floats x) {
  const Floats twice = exp(larger(broadcast(-20.0F), smaller(broadcast(20.0F), x)) * broadcast(2.0F));
  return (twice - broadcast(1.0F)) / (twice + broadcast(1.0F));
}

// Abramowitz and Stegun 7.1.26: its absolute error is 1.5e-7; with the rounding of its terms, which cancel near 0, 7e-7 at most.
inline Floats erf(Floats x) {
  const Floats size = abs(x);
  const Floats t = broadcast(1.0F) / fma(broadcast(0.3275911F), size, broadcast(1.0F));
  Floats p = broadcast(1.061405429F);
  p = fma(p, t, broadcast(-1.453152027F));
  p = fma(p, t, broadcast(1.421413741F));
  p = fma(p, t, broadcast(-0.284496736F));
  p = fma(p, t, broadcast(0.254829592F));
  const Floats value = broadcast(1.0F) - p * t * exp(broadcast(0.0F) - size * size);
  return where_less(x, broadcast(0.0F), broadcast(0.0F) - value, value);
}

template <Activation activation>
Floats activate(Floats x) {
  const Floats one = broadcast(1.0F), half = broadcast(0.5F);
  if constexpr (activation == Activation::silu)  // exp's own bound would leave something of the most negative numbers
    return where_less(x, broadcast(-87.0F), broadcast(0.0F), x / (one + exp(broadcast(0.0F) - x)));
  if constexpr (activation == Activation::gelu) return half * x * (one + erf(x * broadcast(0.70710678F)));
  if constexpr (activation == Activation::gelu_tanh) return half * x * (one + tanh(broadcast(0.79788456F) * fma(x * x * x, broadcast(0.044715F), x)));
  if constexpr (activation == Activation::relu) return where_less(x, broadcast(0.0F), broadcast(0.0F), x);
}

}  // namespace diecast::cpu::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
