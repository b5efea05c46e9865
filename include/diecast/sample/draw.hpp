// The draw: argmax over the kept ids of z/T + G(seed, choice, step, id), G Gumbel noise. It picks each id with its softmax probability
// (Gumbel 1954; "the Gumbel-max trick") and sums nothing, so no order of summation, batch or thread can change it.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include <diecast/sample/philox.hpp>

namespace diecast {

// Logits as distances from the best one, divided by the temperature: 0 for the best, negative for all others.
// The maximum is taken off before dividing, so that a tiny temperature gives -inf and never inf - inf.
struct Relative {
  std::span<const float> logits;
  double max;
  double temperature;
  double operator()(int id) const { return (static_cast<double>(logits[static_cast<std::size_t>(id)]) - max) / temperature; }
};

class GumbelNoise {
 public:
  GumbelNoise(std::uint64_t seed, std::uint32_t choice, std::uint32_t step)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}, choice_(choice), step_(step) {}

  // In (0, 1): the centre of one of 2^32 equal parts. One Philox block serves four neighbouring ids.
  double uniform(int id) {
    const auto index = static_cast<std::uint32_t>(id);
    if (!filled_ || index / 4 != block_) {
      block_ = index / 4;
      filled_ = true;
      bits_ = philox4x32({block_, step_, choice_, 0}, key_);
    }
    return (bits_[index % 4] + 0.5) * 0x1p-32;
  }
  static double gumbel(double uniform) { return -std::log(-std::log(uniform)); }

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint32_t choice_, step_;
  std::array<std::uint32_t, 4> bits_{};
  std::uint32_t block_ = 0;
  bool filled_ = false;
};

// The id drawn from a set that is not empty; among equal scores the lowest.
inline int draw(std::span<const int> ids, const Relative& relative, GumbelNoise noise) {
  constexpr double most_noise = 22.88;  // a little over gumbel(1 - 2^-33)
  int best = ids.front();
  double best_score = -std::numeric_limits<double>::infinity();
  double least_uniform = 0;  // below it no id can win, for relative() is at most 0: spares two logarithms for nearly every id
  for (const int id : ids) {
    const double value = relative(id);
    if (value + most_noise < best_score) continue;
    const double uniform = noise.uniform(id);
    if (uniform < least_uniform) continue;
    const double score = value + GumbelNoise::gumbel(uniform);
    if (score > best_score || (score == best_score && id < best)) {
      best = id;
      best_score = score;
      least_uniform = std::exp(-std::exp(-score)) - 1e-12;  // the margin covers the rounding of exp
    }
  }
  return best;
}

}  // namespace diecast
