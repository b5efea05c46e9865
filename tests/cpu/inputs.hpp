// What the tests of the CPU path are fed with: random numbers that are the same on every machine, and tensors of random blocks in any format
// whose scales give weights of a chosen size.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <diecast/cpu/arena.hpp>
#include <diecast/cpu/pack.hpp>
#include <diecast/files/decode.hpp>
#include <diecast/files/half.hpp>
#include <diecast/files/weights.hpp>

namespace diecast::testing {

class Random {  // SplitMix64 (Steele, Lea, Flood 2014)
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  int integer(int least, int most) { return least + static_cast<int>(bits() % static_cast<std::uint64_t>(most - least + 1)); }
  float number() { return static_cast<float>(static_cast<double>(bits() >> 11) * 0x1p-52 - 1.0); }  // [-1, 1)
  float bell() { return number() + number() + number(); }  // about normal, variance 1
  std::vector<float> numbers(int count) {
    std::vector<float> all(static_cast<std::size_t>(count));
    for (float& one : all) one = number();
    return all;
  }

 private:
  std::uint64_t state_;
};

inline void put_half(std::byte* at, float value) {
  const std::uint16_t bits = float_to_half(value);
  std::memcpy(at, &bits, 2);
}

// Random weights of about [-spread, spread]. exact: scales are such that every weight is a small integer (spread is not read then).
inline Tensor random_tensor(Format format, int rows, int cols, float spread, Random& random, bool exact = false) {
  auto bytes = std::make_shared<std::vector<std::byte>>(row_bytes(format, cols) * static_cast<std::size_t>(rows));
  if (!cpu::form_of(format).integers) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols); ++i) {
      const float value = exact ? static_cast<float>(random.integer(-15, 15)) : spread * random.number();
      const std::uint32_t whole = std::bit_cast<std::uint32_t>(value);
      const std::uint16_t half = format == Format::f16 ? float_to_half(value) : float_to_bfloat(value);
      if (format == Format::f32) std::memcpy(bytes->data() + 4 * i, &whole, 4);
      else std::memcpy(bytes->data() + 2 * i, &half, 2);
    }
  } else {
    for (std::byte& one : *bytes) one = static_cast<std::byte>(random.bits());
    const AffineBlock block = cpu::affine_block(format);
    const float greatest = static_cast<float>(1 << (block.low.bits + block.high.bits));
    for (std::size_t at = 0; at < bytes->size(); at += static_cast<std::size_t>(block.bytes)) {
      std::byte* const scales = bytes->data() + at + block.scale_offset;
      const float size = exact ? 1 : spread * (1 + 0.3F * random.number());
      switch (block.scales) {
        case ScaleForm::one_half: put_half(scales, exact ? 1 : 2 * size / greatest); break;
        case ScaleForm::half_pair:
          put_half(scales, exact ? 1 : 2 * size / greatest);
          put_half(scales + 2, exact ? static_cast<float>(random.integer(-15, 0)) : -size);
          break;
        case ScaleForm::six_bit_pairs:  // the factors are random bits: 31 on average, or 3 at most
          if (exact)
            for (int i = 0; i < 12; ++i) bytes->at(at + static_cast<std::size_t>(block.factor_offset + i)) &= static_cast<std::byte>(i < 8 ? 0x03 : 0x33);
          put_half(scales, exact ? 1 : size / (16 * greatest));
          put_half(scales + 2, exact ? 1 : size / 32);
          break;
        case ScaleForm::signed_bytes:
          if (exact)
            for (int i = 0; i < 16; ++i) bytes->at(at + static_cast<std::size_t>(block.factor_offset + i)) = static_cast<std::byte>(random.integer(-3, 3));
          put_half(scales, exact ? 1 : 2 * size / (64 * greatest));
          break;
      }
    }
  }
  Tensor tensor{.name = "random", .format = format, .rows = rows, .cols = cols};
  tensor.bytes = *bytes;
  tensor.owner = std::move(bytes);
  return tensor;
}

// A packed matrix with the memory that it lies in.
struct Packed {
  cpu::PackedMatrix matrix;
  cpu::Arena arena;

  explicit Packed(const Tensor& tensor) : matrix{tensor.format, static_cast<int>(tensor.rows), static_cast<int>(tensor.cols), nullptr} {
    arena = cpu::Arena(matrix.bytes(), cpu::Arena::Pages::usual);
    cpu::pack_panels(tensor, 0, matrix.panels(), arena.data());
    matrix.data = arena.data();
  }
};

inline std::vector<float> decoded(const Tensor& tensor) {  // [rows, cols]
  std::vector<float> values(static_cast<std::size_t>(tensor.rows * tensor.cols));
  decode_tensor(tensor, values);
  return values;
}

inline bool same_bits(std::span<const float> a, std::span<const float> b) { return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0; }

}  // namespace diecast::testing
