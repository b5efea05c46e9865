// Keys and values of all layers, in the blocks of the context's table. Within a block of 16 positions the keys of a head stand side by side,
// [head_dim][16], so that sixteen scores are computed at once; the values stand one after another, [16][head_dim padded to 16]. Eight bits are followed by
// what they are multiplied by: a float for each position's key, and one for its value.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <diecast/backend/block_table.hpp>
#include <diecast/cpu/arena.hpp>
#include <diecast/cpu/lanes.hpp>
#include <diecast/cpu/options.hpp>
#include <diecast/files/half.hpp>
#include <diecast/spec/spec.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::cpu::inline DIECAST_ISA {

template <CacheType type>
struct Cached {
  static constexpr bool scaled = false;
  using Element = std::uint16_t;
  static void put(Element* at, Floats x) {
    if constexpr (type == CacheType::f16) {
      constexpr float most = 65504;  // an infinity times a zero would be no number; NaN stays one
      store_halfs(at, smaller(broadcast(most), larger(broadcast(-most), x)));
    } else {
      float values[lanes];
      store(values, x);
      for (int i = 0; i < lanes; ++i) at[i] = float_to_bfloat(values[i]);
    }
  }
  static Floats get(const Element* at) {
    if constexpr (type == CacheType::f16) return load(at);
    else return load_bfloats(at);
  }
};
template <>
struct Cached<CacheType::f32> {
  static constexpr bool scaled = false;
  using Element = float;
  static void put(float* at, Floats x) { store(at, x); }
  static Floats get(const float* at) { return load(at); }
};
template <>
struct Cached<CacheType::q8> {
  static constexpr bool scaled = true;
  using Element = std::int8_t;
  static void put(std::int8_t* at, Floats x) { store_bytes(at, round_to_ints(x)); }
  static Floats get(const std::int8_t* at) { return to_floats(load_signed_bytes(at)); }
};

// The scales of a block's keys, and behind them those of its values.
template <CacheType type>
const float* scales_of(const typename Cached<type>::Element* block, int head_dim, int width) {
  return reinterpret_cast<const float*>(block + 16 * (head_dim + width));
}

// What 8 bits of these numbers are multiplied by; NaN where one of them is not finite, so that it is not lost.
inline float scale_of(const float* values, int count) {
  Floats most = broadcast(0.0F), wrong = broadcast(0.0F);
  for (int i = 0; i < count; i += lanes) {
    const Floats x = load_tail(values + i, count - i);
    most = larger(most, abs(x));
    wrong = fma(x, broadcast(0.0F), wrong);
  }
  return greatest(most) / 127 + sum(wrong);
}

class KvCache {
 public:
  KvCache(const Spec& spec, int tokens, CacheType type)
      : type_(type), head_dim_(static_cast<std::size_t>(spec.attention.head_dim)), width_(static_cast<std::size_t>(round_up(spec.attention.head_dim, lanes))),
        kv_heads_(static_cast<std::size_t>(spec.attention.kv_heads)), parts_(static_cast<std::size_t>(spec.layers) * kv_heads_),
        blocks_(static_cast<std::size_t>((tokens + BlockTable::block_tokens - 1) / BlockTable::block_tokens)), memory_(cache_bytes(spec, tokens, type), Arena::Pages::usual) {}

  CacheType type() const { return type_; }
  std::size_t width() const { return width_; }

  // Keys [head_dim][16] of a block, then its values [16][width].
  template <CacheType type>
  typename Cached<type>::Element* block(int layer, int head, std::size_t block) const {
    const std::size_t at = (static_cast<std::size_t>(layer) * kv_heads_ + static_cast<std::size_t>(head)) * blocks_ + block;
    return reinterpret_cast<typename Cached<type>::Element*>(memory_.data() + at * cache_block_bytes(static_cast<int>(head_dim_), type));
  }

  template <CacheType type>
  void append(int layer, int head, std::size_t slot, const float* key, const float* value) const {
    const auto size = static_cast<int>(head_dim_);
    auto* const at = block<type>(layer, head, slot / 16);
    auto* const keys = at + slot % 16;
    auto* const values = at + 16 * head_dim_ + slot % 16 * width_;
    Floats key_factor = broadcast(1.0F), value_factor = key_factor;
    if constexpr (Cached<type>::scaled) {
      auto* const scales = const_cast<float*>(scales_of<type>(at, size, static_cast<int>(width_))) + slot % 16;
      scales[0] = scale_of(key, size);
      scales[16] = scale_of(value, size);
      const auto inverse = [](float scale) { return broadcast(scale > 1e-35F ? 1 / scale : 0.0F); };
      key_factor = inverse(scales[0]);
      value_factor = inverse(scales[16]);
    }
    for (int i = 0; i < size; i += lanes) {
      Floats k = load_tail(key + i, size - i), v = load_tail(value + i, size - i);
      if constexpr (Cached<type>::scaled) {
        k = k * key_factor;
        v = v * value_factor;
      }
      typename Cached<type>::Element sixteen[lanes];
      Cached<type>::put(sixteen, k);
      for (int j = 0; j < lanes && i + j < size; ++j) keys[16 * (i + j)] = sixteen[j];
      Cached<type>::put(values + i, v);
    }
  }

  // A block's bytes, all layers and heads.
  std::size_t block_bytes() const { return parts_ * part_bytes(); }
  void read_block(std::size_t block, std::byte* to) const {
    for_each_part(block, [&](std::byte* part, std::size_t size) { std::memcpy(to, part, size), to += size; });
  }
  void write_block(std::size_t block, const std::byte* from) const {
    for_each_part(block, [&](std::byte* part, std::size_t size) { std::memcpy(part, from, size), from += size; });
  }

 private:
  std::size_t part_bytes() const { return cache_block_bytes(static_cast<int>(head_dim_), type_); }
  template <class Visit>
  void for_each_part(std::size_t block, const Visit& visit) const {
    for (std::size_t i = 0; i < parts_; ++i) visit(memory_.data() + (i * blocks_ + block) * part_bytes(), part_bytes());
  }

  CacheType type_;
  std::size_t head_dim_, width_, kv_heads_, parts_, blocks_;  // parts: of a block, one for each layer and head
  Arena memory_;
};

template <class Visitor>
auto with_cache(CacheType type, const Visitor& visit) {
  switch (type) {
    case CacheType::f16: return visit.template operator()<CacheType::f16>();
    case CacheType::bf16: return visit.template operator()<CacheType::bf16>();
    case CacheType::q8: return visit.template operator()<CacheType::q8>();
    default: return visit.template operator()<CacheType::f32>();
  }
}

}  // namespace diecast::cpu::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
