// What an open hash table that came out of a file must be, so that a search in it ends and finds places that exist: a power of two of slots, one of them
// empty at least, and no place in them but those of `count` entries. Whether each is where its key wants it is not asked: that is the digest's business.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <diecast/files/arrays.hpp>

namespace diecast {

template <class Slot>
void check_slots(std::span<const Slot> slots, Slot empty, std::size_t count, const char* what, const ArrayReader& from) {
  if (slots.size() < 2 || !std::has_single_bit(slots.size())) from.fail(std::to_string(slots.size()) + " slots for " + what + " are no power of two");
  bool has_empty = false;
  for (const Slot slot : slots) {
    if (slot == empty) has_empty = true;
    else if (static_cast<std::uint64_t>(static_cast<std::uint32_t>(slot)) >= count)
      from.fail("among the " + std::string(what) + " is " + std::to_string(slot) + ", there are " + std::to_string(count));
  }
  if (!has_empty) from.fail("of the slots for " + std::string(what) + " none is empty");
}

}  // namespace diecast
