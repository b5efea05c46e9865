// From the bytes of a piece to its id: an open hash table of ids whose keys stay where they are, in the block of all pieces.
// Nearly every piece has sixteen bytes or fewer: it is hashed and compared as two words, without a branch on its length.
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
      : pieces_(pieces), slots_(std::bit_ceil(most * 2 + 2), -1), shift_(64 - std::countr_zero(slots_.size())), held_(most) {}

  // The id of these bytes, -1 where they are no piece. Reads up to Strings::margin bytes behind them.
  std::int32_t find(std::string_view bytes) const {
    if (bytes.empty()) return -1;
    return slots_[find_slot(bytes)];
  }

  // The same where the id is probably `guess`: the results of merges follow each other in most vocabularies.
  std::int32_t find(std::string_view bytes, std::size_t guess) const {
    return guess < held_.size() && held_[guess] && equal(pieces_[guess], bytes) ? static_cast<std::int32_t>(guess) : find(bytes);
  }

  // The id under which the bytes of `id`, which are not empty, are known now: another one, where they were known before.
  std::int32_t insert(std::int32_t id) {
    const auto index = static_cast<std::size_t>(id);
    std::int32_t& slot = slots_[find_slot(pieces_[index])];
    if (slot < 0) {
      slot = id;
      held_[index] = true;
    }
    return slot;
  }

 private:
  static std::uint64_t word(const char* from) {
    std::uint64_t word;
    std::memcpy(&word, from, sizeof word);
    return word;
  }
  // The first bytes from `from` on, eight at most, as a word; those behind them are shifted out.
  static std::uint64_t word(const char* from, std::size_t size) {
    if (size == 0) return 0;
    const std::size_t others = size < 8 ? 64 - 8 * size : 0;
    return std::endian::native == std::endian::little ? word(from) << others : word(from) >> others;
  }
  struct Words {
    std::uint64_t first, second;
    bool operator==(const Words&) const = default;
  };
  static Words words(std::string_view bytes) {  // the first sixteen bytes
    return {word(bytes.data(), bytes.size()), word(bytes.data() + 8, bytes.size() < 8 ? 0 : bytes.size() - 8)};
  }

  static std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
  }
  static std::uint64_t hash(std::string_view bytes) {
    const Words head = words(bytes);
    std::uint64_t hashed = mix(mix(bytes.size(), head.first), head.second);
    for (std::size_t at = 16; at < bytes.size(); at += 8) hashed = mix(hashed, word(bytes.data() + at, bytes.size() - at));
    return hashed * 0xD6E8FEB86659FD93u;  // the best mixed bits are the highest
  }
  static bool equal(std::string_view a, std::string_view b) {
    return a.size() == b.size() && words(a) == words(b) && (a.size() <= 16 || a.substr(16) == b.substr(16));
  }

  std::size_t find_slot(std::string_view bytes) const {
    std::size_t index = static_cast<std::size_t>(hash(bytes) >> shift_);
    while (slots_[index] >= 0 && !equal(pieces_[static_cast<std::size_t>(slots_[index])], bytes)) index = (index + 1) & (slots_.size() - 1);
    return index;
  }

  const Strings& pieces_;
  std::vector<std::int32_t> slots_;  // -1: an empty slot
  int shift_;
  std::vector<bool> held_;  // by id: whether it is in a slot
};

}  // namespace diecast
