// Rotary positions (Su et al. 2021): pair i of a head, the values i and i + rotary_dim/2, turns by position * inv_freq[i].
// Angles are computed in double and rounded once (backend/layer_view.hpp has the frequencies).
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include <diecast/backend/layer_view.hpp>
#include <diecast/isa.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::reference::inline DIECAST_ISA {

// Turns one head in place.
template <class Real>
void rotate(Real* head, const std::vector<double>& frequencies, double position, double stretch = 1) {  // [head_dim]
  const std::size_t half = frequencies.size();
  for (std::size_t pair = 0; pair < half; ++pair) {
    const double angle = position * frequencies[pair];
    const Real cosine = static_cast<Real>(stretch * std::cos(angle)), sine = static_cast<Real>(stretch * std::sin(angle));
    const Real a = head[pair], b = head[pair + half];
    head[pair] = a * cosine - b * sine;
    head[pair + half] = b * cosine + a * sine;
  }
}

}  // namespace diecast::reference::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
