// From the bytes of a piece to its id: an open hash table of ids whose keys stay where they are, in the block of all pieces.
// Nearly every piece has eight bytes or fewer: it is hashed and compared as one word, without a branch on its length.
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
      : pieces_(&pieces), slots_(std::bit_ceil(most * 2 + 2), -1), shift_(64 - std::countr_zero(slots_.size())) {}

  // The id of these bytes, -1 where they are no piece. Reads up to Strings::margin bytes behind them.
  std::int32_t find(std::string_view bytes) const {
    if (bytes.empty()) return -1;
    return slots_[find_slot(bytes)];
  }

  // The id under which the bytes of `id`, which are not empty, are known now: another one, where they were known before.
  std::int32_t insert(std::int32_t id) {
    std::int32_t& slot = slots_[find_slot((*pieces_)[static_cast<std::size_t>(id)])];
    if (slot < 0) slot = id;
    return slot;
  }

 private:
  static std::uint64_t load(const char* from) {
    std::uint64_t word;
    std::memcpy(&word, from, sizeof word);
    return word;
  }
  // One to eight bytes as a word; those behind them are shifted out.
  static std::uint64_t load(const char* from, std::size_t size) {
    const std::size_t others = 64 - 8 * size;
    return std::endian::native == std::endian::little ? load(from) << others : load(from) >> others;
  }
  static std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
  }
  static std::uint64_t hash(std::string_view bytes) {
    std::uint64_t hashed = bytes.size();
    if (bytes.size() <= 8) {
      hashed = mix(hashed, load(bytes.data(), bytes.size()));
    } else {
      for (std::size_t at = 0; at + 8 < bytes.size(); at += 8) hashed = mix(hashed, load(bytes.data() + at));
      hashed = mix(hashed, load(bytes.data() + bytes.size() - 8));  // may overlap the word before
    }
    return hashed * 0xD6E8FEB86659FD93u;  // the best mixed bits are the highest
  }
  static bool equal(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    return a.size() <= 8 ? load(a.data(), a.size()) == load(b.data(), b.size()) : std::memcmp(a.data(), b.data(), a.size()) == 0;
  }

  std::size_t find_slot(std::string_view bytes) const {
    std::size_t index = static_cast<std::size_t>(hash(bytes) >> shift_);
    while (slots_[index] >= 0 && !equal((*pieces_)[static_cast<std::size_t>(slots_[index])], bytes)) index = (index + 1) & (slots_.size() - 1);
    return index;
  }

  const Strings* pieces_;
  std::vector<std::int32_t> slots_;  // -1: an empty slot
  int shift_;
};

}  // namespace diecast
