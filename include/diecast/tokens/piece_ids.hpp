// From the bytes of a piece to its id: an open hash table of ids whose keys stay where they are, in the block of all pieces.
// Hashed eight bytes at a time: nearly every piece is one or two steps.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include <diecast/tokens/strings.hpp>

namespace diecast {

class PieceIds {
 public:
  // `pieces` must live as long as the table, which has room for `most` ids.
  PieceIds(const Strings& pieces, std::size_t most)
      : pieces_(&pieces), slots_(std::bit_ceil(most * 2 + 2)), shift_(64 - std::countr_zero(slots_.size())) {}

  // The id of these bytes, -1 where they are no piece.
  std::int32_t find(std::string_view bytes) const { return slots_[find_slot(bytes, hash(bytes))].id; }

  // The id under which the bytes of `id` are known now: another one, where they were known before.
  std::int32_t insert(std::int32_t id) {
    const std::string_view bytes = (*pieces_)[static_cast<std::size_t>(id)];
    const std::uint64_t hashed = hash(bytes);
    Slot& slot = slots_[find_slot(bytes, hashed)];
    if (slot.id < 0) slot = {static_cast<std::uint32_t>(hashed), id};
    return slot.id;
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;  // the lower half: the index is made of the upper
    std::int32_t id = -1;    // -1: an empty slot
  };

  static std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
  }
  template <class Word>
  static std::uint64_t load(const char* from) {
    Word word;
    std::memcpy(&word, from, sizeof word);
    return word;
  }
  static std::uint64_t hash(std::string_view bytes) {
    const char* const data = bytes.data();
    const std::size_t size = bytes.size();
    std::uint64_t hashed = size;
    if (size >= 8) {
      for (std::size_t at = 0; at + 8 < size; at += 8) hashed = mix(hashed, load<std::uint64_t>(data + at));
      hashed = mix(hashed, load<std::uint64_t>(data + size - 8));  // the last words may overlap
    } else if (size >= 4) {
      hashed = mix(hashed, load<std::uint32_t>(data) << 32 | load<std::uint32_t>(data + size - 4));
    } else if (size > 0) {
      hashed = mix(hashed, load<std::uint8_t>(data) << 16 | load<std::uint8_t>(data + size / 2) << 8 | load<std::uint8_t>(data + size - 1));
    }
    return hashed * 0xD6E8FEB86659FD93u;  // the best mixed bits are the highest
  }

  std::size_t find_slot(std::string_view bytes, std::uint64_t hashed) const {
    std::size_t index = static_cast<std::size_t>(hashed >> shift_);
    while (slots_[index].id >= 0 && (slots_[index].hash != static_cast<std::uint32_t>(hashed) || (*pieces_)[static_cast<std::size_t>(slots_[index].id)] != bytes)) {
      index = (index + 1) & (slots_.size() - 1);
    }
    return index;
  }

  const Strings* pieces_;
  std::vector<Slot> slots_;
  int shift_;
};

}  // namespace diecast
