// Inputs for the tests of kernels: numbers without a pattern that an indexing fault could keep, weights in every format of a file, and the
// same weights as doubles, decoded by files/decode.hpp.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <diecast/cuda/pack.hpp>
#include <diecast/files/decode.hpp>
#include <diecast/files/half.hpp>
#include <diecast/files/weights.hpp>
#include <diecast/kernels/multiply_row.hpp>
#include <diecast/kernels/token_rows.hpp>

#ifdef __CUDACC__
#include "on_cuda.hpp"
#else
#include "on_host.hpp"
#endif

namespace diecast_test {

// SplitMix64 (Steele, Lea, Flood 2014).
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  int below(int n) { return static_cast<int>(bits() % static_cast<std::uint64_t>(n)); }
  float real() { return static_cast<float>(static_cast<double>(bits() >> 11) * 0x1p-52 - 1.0); }  // [-1, 1)
  std::vector<float> reals(int count) {
    std::vector<float> out;
    for (int i = 0; i < count; ++i) out.push_back(real());
    return out;
  }
  std::vector<float> whole(int count, int most) {  // -most to most
    std::vector<float> out;
    for (int i = 0; i < count; ++i) out.push_back(static_cast<float>(below(2 * most + 1) - most));
    return out;
  }

 private:
  std::uint64_t state_;
};

inline std::uint16_t half_of(float x) { return diecast::kernels::Stored<diecast::kernels::Half>::from(x).bits; }

// A matrix in a file's format. exact: all integers of all blocks are there, scales are 1 and minima whole, so every sum is a whole number.
inline diecast::Tensor random_tensor(diecast::Format format, int rows, int cols, Numbers& numbers, bool exact = false) {
  using diecast::Format;
  const std::size_t bytes = diecast::row_bytes(format, cols) * static_cast<std::size_t>(rows);
  auto data = std::make_shared<std::vector<std::byte>>(bytes);
  const auto put = [&](std::size_t at, const auto& value) { std::memcpy(data->data() + at, &value, sizeof value); };
  const auto values = static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
  const auto value = [&] { return exact ? static_cast<float>(numbers.below(9) - 4) : numbers.real(); };
  const int block_bytes = diecast::layout(format).bytes;
  if (format == Format::f32)
    for (std::size_t i = 0; i < values; ++i) put(4 * i, value());
  else if (format == Format::f16)
    for (std::size_t i = 0; i < values; ++i) put(2 * i, half_of(value()));
  else if (format == Format::bf16)
    for (std::size_t i = 0; i < values; ++i) put(2 * i, diecast::kernels::Stored<diecast::kernels::Bfloat16>::from(value()).bits);
  else
    for (std::size_t block = 0; block < bytes / static_cast<std::size_t>(block_bytes); ++block) {
      const std::size_t at = block * static_cast<std::size_t>(block_bytes);
      for (int i = 0; i < block_bytes; ++i) (*data)[at + static_cast<std::size_t>(i)] = static_cast<std::byte>(numbers.bits());
      const bool pair = format == Format::q4_1 || format == Format::q5_1 || format == Format::q4_k || format == Format::q5_k;
      const std::size_t scale_at = format == Format::q6_k ? 208 : 0;
      put(at + scale_at, half_of(exact ? 1.0f : 0.01f + 0.01f * numbers.real()));
      if (pair) put(at + 2, half_of(exact ? static_cast<float>(numbers.below(5) - 2) : 0.02f * numbers.real()));
    }
  diecast::Tensor tensor{.name = "matrix", .format = format, .rows = rows, .cols = cols};
  tensor.bytes = std::span<const std::byte>(*data);
  tensor.owner = std::move(data);
  return tensor;
}

inline std::vector<float> decoded(const diecast::Tensor& tensor) {
  std::vector<float> out(static_cast<std::size_t>(tensor.rows * tensor.cols));
  diecast::decode_tensor(tensor, out);
  return out;
}

// A matrix as a kernel is given it, with the bias that goes with it.
template <diecast::kernels::FormSet set>
class Matrix {
 public:
  Matrix(const diecast::Tensor& tensor, const std::vector<float>& bias)
      : packed_(diecast::cuda::pack(tensor)),
        bias_(bias.empty() ? std::vector<float>{0} : bias),
        has_bias_(!bias.empty()),
        form_(set.find(diecast::cuda::form_of(tensor.format))) {}
  diecast::kernels::Linear linear() const { return {packed_.data(), has_bias_ ? bias_.data() : nullptr, form_}; }

 private:
  Constants<unsigned char> packed_;
  Constants<float> bias_;
  bool has_bias_;
  int form_;
};

// What a product takes for x: itself, or where weights are integers what 8 bits leave of it (kernels/activations.hpp, in double but for the
// quotient, whose rounding decides).
inline std::vector<double> as_multiplied(const std::vector<float>& x, bool integers) {
  std::vector<double> out(x.begin(), x.end());
  if (!integers) return out;
  for (std::size_t block = 0; block < x.size() / 32; ++block) {
    float most = 0;
    for (std::size_t i = 0; i < 32; ++i) most = std::max(most, std::abs(x[32 * block + i]));
    const float inverse = most > 1e-30f ? 127.0f / most : 0.0f, scale = most / 127.0f;
    for (std::size_t i = 0; i < 32; ++i)
      out[32 * block + i] = static_cast<double>(scale) * static_cast<double>(std::nearbyint(x[32 * block + i] * inverse));
  }
  return out;
}

// Token rows as a step has them.
class Step {
 public:
  Step(const std::vector<int>& ids, const std::vector<int>& positions, const std::vector<int>& sequences, const std::vector<int>& asked)
      : counts_({static_cast<int>(positions.size()), static_cast<int>(asked.size())}),
        ids_(padded(ids)),
        positions_(padded(positions)),
        sequences_(padded(sequences)),
        asked_(padded(asked)) {}
  static Step of(int rows) {
    std::vector<int> all;
    for (int i = 0; i < rows; ++i) all.push_back(i);
    return Step(all, all, all, all);
  }
  diecast::kernels::TokenRows rows() const { return {counts_.data(), ids_.data(), positions_.data(), sequences_.data(), asked_.data()}; }

 private:
  static std::vector<int> padded(std::vector<int> values) {
    if (values.empty()) values.push_back(-1);
    return values;
  }
  Constants<int> counts_, ids_, positions_, sequences_, asked_;
};

// Whether |got - want| <= bound; a NaN fails.
inline bool within(float got, double want, double bound) { return std::abs(static_cast<double>(got) - want) <= bound; }

}  // namespace diecast_test
