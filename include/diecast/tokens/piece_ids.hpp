// From the bytes of a piece to its id: an open hash table of ids, whose strings stay where they are, in the block of all pieces. It is asked
// two or three times for each merge while an engine starts. Lengths are random, so a branch on one is guessed wrong: pieces of up to sixteen
// bytes, nearly all, are hashed as two words without one.
#pragma once

#include <algorithm>
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
      : pieces_(pieces), slots_(std::bit_ceil(most * 2 + 2)), shift_(64 - std::countr_zero(slots_.size())), held_(most) {}

  // The id of these bytes, -1 where they are no piece. Up to Strings::margin bytes behind them are read.
  std::int32_t find(std::string_view bytes) const { return slots_[find_slot(bytes, hash(bytes))].id; }

  // The same where the id is probably `guess`: the results of merges follow each other in most vocabularies.
  std::int32_t find(std::string_view bytes, std::size_t guess) const {
    return guess < held_.size() && held_[guess] && pieces_[guess] == bytes ? static_cast<std::int32_t>(guess) : find(bytes);
  }

  // The id under which the bytes of `id`, which are not empty, are known now: another one, where they were known before.
  std::int32_t insert(std::int32_t id) {
    const std::string_view bytes = pieces_[static_cast<std::size_t>(id)];
    const std::uint64_t hashed = hash(bytes);
    Slot& slot = slots_[find_slot(bytes, hashed)];
    if (slot.id < 0) {
      slot = {static_cast<std::uint32_t>(hashed), id};
      held_[static_cast<std::size_t>(id)] = true;
    }
    return slot.id;
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;  // the lower half, and never 0, which means that the slot is empty; the index is made of the upper
    std::int32_t id = -1;
  };

  // The first eight bytes, or as many as there are: those behind them are shifted out, by two halves, as a shift by 64 means nothing.
  static std::uint64_t word(const char* bytes, std::size_t size) {
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    const std::size_t half = 4 * (8 - (std::min)(size, std::size_t{8}));
    return word << half << half;
  }
  static std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;  // Fibonacci hashing: the best mixed bits are the highest
    return hash ^ hash >> 32;
  }
  static std::uint64_t hash(std::string_view bytes) {
    const std::size_t size = bytes.size();
    std::uint64_t hash = mix(mix(size, word(bytes.data(), size)), word(bytes.data() + 8, (std::max)(size, std::size_t{8}) - 8));
    for (std::size_t at = 16; at < size; at += 8) hash = mix(hash, word(bytes.data() + at, size - at));
    return hash * 0xD6E8FEB86659FD93u | 1;
  }

  std::size_t find_slot(std::string_view bytes, std::uint64_t hashed) const {
    const auto wanted = static_cast<std::uint32_t>(hashed);
    const std::size_t last = slots_.size() - 1;
    std::size_t slot = static_cast<std::size_t>(hashed >> shift_);
    const std::uint32_t first = slots_[slot].hash;
    slot = (slot + static_cast<std::size_t>((first != 0) & (first != wanted))) & last;  // the first step, which every fifth takes, without a branch
    while (slots_[slot].hash != 0 && (slots_[slot].hash != wanted || pieces_[static_cast<std::size_t>(slots_[slot].id)] != bytes)) slot = (slot + 1) & last;
    return slot;
  }

  const Strings& pieces_;
  std::vector<Slot> slots_;
  int shift_;
  std::vector<bool> held_;  // by id: whether it is in a slot
};

}  // namespace diecast
