// From the bytes of a piece to its id: an open hash table of ids, whose strings stay where they are, in the block of all pieces. It is asked
// two or three times for each merge while an engine starts; so pieces of up to seven bytes, as most are, are hashed and compared as one word.
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

  // The id of these bytes, -1 where they are no piece. Up to Strings::margin bytes behind them are read.
  std::int32_t find(std::string_view bytes) const { return bytes.empty() ? -1 : slots_[find_slot(bytes, key(bytes))]; }

  // The same where the id is probably `guess`: the results of merges follow each other in most vocabularies.
  std::int32_t find(std::string_view bytes, std::size_t guess) const {
    if (bytes.empty()) return -1;
    const std::uint64_t wanted = key(bytes);
    return guess < held_.size() && held_[guess] && same(pieces_[guess], bytes, wanted) ? static_cast<std::int32_t>(guess) : slots_[find_slot(bytes, wanted)];
  }

  // The id under which the bytes of `id`, which are not empty, are known now: another one, where they were known before.
  std::int32_t insert(std::int32_t id) {
    const std::string_view bytes = pieces_[static_cast<std::size_t>(id)];
    std::int32_t& slot = slots_[find_slot(bytes, key(bytes))];
    if (slot < 0) {
      slot = id;
      held_[static_cast<std::size_t>(id)] = true;
    }
    return slot;
  }

 private:
  static constexpr std::size_t word_size = 8;

  static std::uint64_t word(const char* from) {
    std::uint64_t word;
    std::memcpy(&word, from, word_size);
    return word;
  }
  static std::uint64_t mix(std::uint64_t word) { return (word ^ word >> 32) * 0x9E3779B97F4A7C15u; }  // Fibonacci hashing: the best mixed bits are the highest
  // One to seven bytes themselves, what lies behind them shifted out; a hash of more.
  static std::uint64_t key(std::string_view bytes) {
    if (bytes.size() < word_size) {
      const std::size_t others = 8 * (word_size - bytes.size());
      return std::endian::native == std::endian::little ? word(bytes.data()) << others : word(bytes.data()) >> others;
    }
    std::uint64_t hash = bytes.size();
    for (std::size_t at = 0; at + word_size < bytes.size(); at += word_size) hash = std::rotl(mix(hash ^ word(bytes.data() + at)), 32);
    return hash ^ word(bytes.data() + bytes.size() - word_size);  // may overlap the word before
  }
  static bool same(std::string_view piece, std::string_view bytes, std::uint64_t key_of_bytes) {
    if (piece.size() != bytes.size()) return false;
    return bytes.size() < word_size ? key(piece) == key_of_bytes : std::memcmp(piece.data(), bytes.data(), bytes.size()) == 0;
  }

  std::size_t find_slot(std::string_view bytes, std::uint64_t wanted) const {
    std::size_t slot = static_cast<std::size_t>(mix(wanted) >> shift_);
    while (slots_[slot] >= 0 && !same(pieces_[static_cast<std::size_t>(slots_[slot])], bytes, wanted)) slot = (slot + 1) & (slots_.size() - 1);
    return slot;
  }

  const Strings& pieces_;
  std::vector<std::int32_t> slots_;  // -1: empty
  int shift_;
  std::vector<bool> held_;  // by id: whether it is in a slot
};

}  // namespace diecast
