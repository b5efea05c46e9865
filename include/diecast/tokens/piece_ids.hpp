// From the bytes of a piece to its id: an open hash table of ids, whose strings stay where they are, in the block of all pieces.
// It is asked two or three times for each merge while an engine starts, and each time waits for memory. So a question has two parts: many keys
// are made, which starts to fetch what they will need, and only then looked up.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include <diecast/files/arrays.hpp>
#include <diecast/tokens/slots.hpp>
#include <diecast/tokens/strings.hpp>

namespace diecast {

class PieceIds {
 public:
  // `pieces` must live as long as the table, which has room for `most` ids.
  PieceIds(const Strings& pieces, std::size_t most)
      : pieces_(pieces), slots_(std::vector<std::int32_t>(std::bit_ceil(most * 2 + 2), -1)), shift_(64 - std::countr_zero(slots_.size())), held_(most) {}

  // As save() left it, over the same pieces.
  PieceIds(const Strings& pieces, ArrayReader& from) : pieces_(pieces), slots_(from.get<std::int32_t>("the ids of pieces")), shift_(64 - std::countr_zero(slots_.size())) {
    check_slots(slots_.all(), std::int32_t{-1}, pieces.size(), "ids of pieces", from);
  }
  void save(ArrayWriter& to) const { to.put(slots_.all()); }

  struct Key {
    std::string_view bytes;
    std::uint64_t word = 0;  // one to seven bytes themselves; a hash of more
  };
  // Up to Strings::margin bytes behind these are read.
  Key key(std::string_view bytes) const {
    const Key made{bytes, bytes.empty() ? 0 : word_of(bytes)};
    __builtin_prefetch(&slots_[first_slot(made)]);
    return made;
  }

  // The id of these bytes, -1 where they are no piece.
  std::int32_t find(const Key& key) const { return key.bytes.empty() ? -1 : slots_[find_slot(key)]; }

  // The same where the id is probably `guess`: the results of merges follow each other in most vocabularies.
  std::int32_t find(std::string_view bytes, std::size_t guess) const {
    return guess < held_.size() && held_[guess] && pieces_[guess] == bytes ? static_cast<std::int32_t>(guess) : find(key(bytes));
  }

  // The id under which the bytes of `id`, which are not empty, are known now: another one, where they were known before.
  std::int32_t insert(const Key& key, std::int32_t id) {
    std::int32_t& slot = slots_.own()[find_slot(key)];
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
  static std::uint64_t word_of(std::string_view bytes) {
    if (bytes.size() < word_size) return word(bytes.data()) << 8 * (word_size - bytes.size());  // what lies behind them is shifted out
    std::uint64_t hash = bytes.size();
    for (std::size_t at = 0; at + word_size < bytes.size(); at += word_size) hash = std::rotl(mix(hash ^ word(bytes.data() + at)), 32);
    return hash ^ word(bytes.data() + bytes.size() - word_size);  // may overlap the word before
  }
  static bool same(std::string_view piece, const Key& key) {
    if (piece.size() != key.bytes.size()) return false;
    return piece.size() < word_size ? word_of(piece) == key.word : piece == key.bytes;
  }

  std::size_t first_slot(const Key& key) const { return static_cast<std::size_t>(mix(key.word) >> shift_); }
  std::size_t find_slot(const Key& key) const {
    std::size_t slot = first_slot(key);
    while (slots_[slot] >= 0 && !same(pieces_[static_cast<std::size_t>(slots_[slot])], key)) slot = (slot + 1) & (slots_.size() - 1);
    return slot;
  }

  const Strings& pieces_;
  Array<std::int32_t> slots_;  // -1: empty
  int shift_;
  std::vector<bool> held_;  // by id: whether it is in a slot, while they are filled
};

}  // namespace diecast
