// Gumbel noise from the counter-based generator Philox4x32-10 (Salmon et al. 2011), as sample/philox.hpp and sample/draw.hpp have it on the host: the
// noise of an id depends on (seed, choice, step, id) alone, so any thread may make it. The logarithm is computed here, in double, by its series, because a
// library's differs from device to device; it errs by 2 units in the last place at most.
#pragma once

#include <cstdint>

#include <diecast/kernels/context.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

struct Philox {
  std::uint32_t at[4];
};

DIECAST_HOST_DEVICE constexpr Philox philox4x32(Philox counter, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t even = std::uint64_t{0xD2511F53} * counter.at[0], odd = std::uint64_t{0xCD9E8D57} * counter.at[2];
    counter = {{static_cast<std::uint32_t>(odd >> 32) ^ counter.at[1] ^ key0, static_cast<std::uint32_t>(odd),
                static_cast<std::uint32_t>(even >> 32) ^ counter.at[3] ^ key1, static_cast<std::uint32_t>(even)}};
    key0 += 0x9E3779B9;  // golden ratio
    key1 += 0xBB67AE85;  // sqrt(3) - 1
  }
  return counter;
}

// ln x of a normal positive number: x = 2^e m with m in [sqrt(1/2), sqrt(2)), ln m = 2 artanh(s) with s = (m - 1) / (m + 1), |s| < 0.172: the terms after
// s^21 are below 2^-58.
DIECAST_HOST_DEVICE constexpr double natural_log(double x) {
  const std::uint64_t bits = __builtin_bit_cast(std::uint64_t, x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = __builtin_bit_cast(double, (bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1), z = s * s;
  double sum = 0;
  for (int k = 21; k >= 3; k -= 2) sum = (sum + 1.0 / k) * z;
  constexpr double ln2_high = 0x1.62e42fefa0000p-1, ln2_low = 0x1.cf79abc9e3b3ap-40;  // the first exact in few bits
  return exponent * ln2_high + (2 * s + (2 * s * sum + exponent * ln2_low));
}

// e^x for x in [-30, 0]: x = n ln 2 + r, |r| <= ln 2 / 2, e^r by its series, whose terms after r^14 are below 2^-62; errs by 2 units in the last place at most.
DIECAST_HOST_DEVICE constexpr double exponential(double x) {
  const auto n = static_cast<int>(x * 1.4426950408889634 - 0.5);  // to the nearest: x is not positive
  constexpr double ln2_high = 0x1.62e42fefa0000p-1, ln2_low = 0x1.cf79abc9e3b3ap-40;
  const double r = (x - n * ln2_high) - n * ln2_low;
  double sum = 1;
  for (int k = 14; k >= 1; --k) sum = 1 + sum * (r * (1.0 / k));
  return sum * __builtin_bit_cast(double, static_cast<std::uint64_t>(1023 + n) << 52);
}

// The mass of a logit that lies so far from the best, in units of 2^-42 of the best one's (sample/filters.hpp).
DIECAST_HOST_DEVICE constexpr std::uint64_t mass(double relative) {
  return relative < -30 ? 0 : static_cast<std::uint64_t>(exponential(relative) * 0x1p42 + 0.5);
}

// Of a uniform number at the centre of one of 2^32 equal parts of (0, 1).
DIECAST_HOST_DEVICE constexpr double gumbel(std::uint32_t bits) { return -natural_log(-natural_log((bits + 0.5) * 0x1p-32)); }

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
