// What a user may choose of the CPU path.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <diecast/backend/block_table.hpp>
#include <diecast/spec/spec.hpp>

namespace diecast::cpu {

// How keys and values are kept. f16 has three more bits than bf16, bf16 the range of a float; what is too great for f16 becomes its greatest. q8 has 8 bits
// and a float for each head and position: a little over half of the memory.
enum class CacheType { f16, bf16, f32, q8 };

constexpr std::string_view cache_type_name(CacheType type) {
  return type == CacheType::f16 ? "f16" : type == CacheType::bf16 ? "bf16" : type == CacheType::f32 ? "f32" : "q8";
}
constexpr std::optional<CacheType> cache_type_of(std::string_view name) {
  for (const CacheType type : {CacheType::f16, CacheType::bf16, CacheType::f32, CacheType::q8})
    if (name == cache_type_name(type)) return type;
  return {};
}

// How many bits the activations have in integer products. The error of 8 is that of other engines with 8-bit activations; the products whose input
// varies most, Q/K/V and down, make up most of it.
enum class Precision {
  fast,      // 8 everywhere
  balanced,  // 15 before Q/K/V and down, 8 elsewhere
  exact      // 15 everywhere: what is left is less than the cache's halves add
};

constexpr std::string_view precision_name(Precision precision) {
  return precision == Precision::fast ? "fast" : precision == Precision::balanced ? "balanced" : "exact";
}
constexpr std::optional<Precision> precision_of(std::string_view name) {
  for (const Precision precision : {Precision::fast, Precision::balanced, Precision::exact})
    if (name == precision_name(precision)) return precision;
  return {};
}

struct Options {
  int threads = 1;
  CacheType cache = CacheType::f16;
  Precision precision = Precision::exact;
  bool screen = true;  // where the head has a screen and only the best are asked for; changes no result
};

// Bytes of the keys and values of one head in a block of 16 positions; values are padded to 16.
constexpr std::size_t cache_block_bytes(int head_dim, CacheType type) {
  const auto numbers = static_cast<std::size_t>(16 * (head_dim + (head_dim + 15) / 16 * 16));
  if (type == CacheType::q8) return numbers + 2 * 16 * sizeof(float);
  return numbers * (type == CacheType::f32 ? 4 : 2);
}

// Bytes of keys and values for a context of this many tokens.
constexpr std::size_t cache_bytes(const Spec& spec, int tokens, CacheType type) {
  const auto blocks = static_cast<std::size_t>((tokens + BlockTable::block_tokens - 1) / BlockTable::block_tokens);
  return blocks * cache_block_bytes(spec.attention.head_dim, type) * static_cast<std::size_t>(spec.attention.kv_heads) * static_cast<std::size_t>(spec.layers);
}

}  // namespace diecast::cpu
