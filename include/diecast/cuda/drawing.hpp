// One request's way of choosing tokens, as the draw on the device takes it (kernels/draw.hpp).
#pragma once

#include <cmath>
#include <cstdint>

#include <diecast/error.hpp>
#include <diecast/kernels/draw.hpp>
#include <diecast/sample/options.hpp>

namespace diecast::cuda {

// choice, step: those of the sampler (sample/sampler.hpp) that would draw in the device's place. Penalties need a history, which the device does not have.
inline kernels::Drawing drawing_of(const SamplingOptions& options, std::uint64_t seed, std::uint32_t choice, std::uint32_t step) {
  check(options);
  if (options.penalises())
    throw Error("the device draws without penalties: they need the tokens that occurred, which are the host's", Blame::program);
  return {.seed = seed,
          .choice = choice,
          .step = step,
          .temperature = options.temperature,
          .filter_temperature = options.order == FilterOrder::temperature_first ? options.temperature : 1.0,
          .top_p = options.top_p,
          .least = std::log(options.min_p),
          .top_k = options.top_k > 0 ? options.top_k : 0,
          .unused = 0};
}

}  // namespace diecast::cuda
