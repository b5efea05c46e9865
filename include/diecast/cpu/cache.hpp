// Keys and values of all layers, in the blocks of the context's table. Within a block of 16 positions the keys of a head stand side by side,
// [head_dim][16], so that sixteen scores are computed at once; the values stand one after another, [16][head_dim padded to 16].
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
  using Element = std::uint16_t;
  static void put(Element* at, Floats x) {
    if constexpr (type == CacheType::f16) {
      store_halfs(at, x);
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
  using Element = float;
  static void put(float* at, Floats x) { store(at, x); }
  static Floats get(const float* at) { return load(at); }
};

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
    return reinterpret_cast<typename Cached<type>::Element*>(memory_.data()) + at * 16 * (head_dim_ + width_);
  }

  template <CacheType type>
  void append(int layer, int head, std::size_t slot, const float* key, const float* value) const {
    const auto size = static_cast<int>(head_dim_);
    auto* const keys = block<type>(layer, head, slot / 16) + slot % 16;
    auto* const values = block<type>(layer, head, slot / 16) + 16 * head_dim_ + slot % 16 * width_;
    for (int i = 0; i < size; i += lanes) {
      typename Cached<type>::Element sixteen[lanes];
      Cached<type>::put(sixteen, load_tail(key + i, size - i));
      for (int j = 0; j < lanes && i + j < size; ++j) keys[16 * (i + j)] = sixteen[j];
      Cached<type>::put(values + i, load_tail(value + i, size - i));
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
  std::size_t part_bytes() const { return 16 * (head_dim_ + width_) * (type_ == CacheType::f32 ? 4 : 2); }
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
    default: return visit.template operator()<CacheType::f32>();
  }
}

}  // namespace diecast::cpu::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
