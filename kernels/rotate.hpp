// The turn of one pair by RoPE (Su et al. 2021). Cosines and sines come as tables that the host made in double: every scaling of the angles
// is folded into them, and a float product of position and frequency would lose the angle's last digits at long positions.
#pragma once

#include <cstdint>

#include <diecast/kernels/context.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

struct Angles {
  const float* cosines;  // [position, rotary_dim / 2], null where nothing turns
  const float* sines;    // [position, rotary_dim / 2]
};

struct Turned {
  float first, second;
};

// Each product that is not inside an fma is rounded by itself, whatever the compiler may contract: the same bits on host and device.
template <ExecutionContext C>
DIECAST_DEVICE Turned turn(C& ctx, const Angles& angles, std::int64_t at, float first, float second) {
  const float cosine = ctx.load_constant(angles.cosines, at), sine = ctx.load_constant(angles.sines, at);
  return {ctx.fma(first, cosine, -(second * sine)), ctx.fma(second, cosine, first * sine)};
}

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
