// Finds data races whatever the schedule did: each word has a list of the accesses to it that a later one could still collide with, and
// each new access must be ordered after those it conflicts with, by barriers or by flags (clocks.hpp). Deterministic, in every build.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <diecast/simt/lane.hpp>

#include "clocks.hpp"
#include "memory.hpp"

namespace diecast::simt {

enum class Touch : unsigned char { read, write, atomic_read, atomic_update };

// Two reads never do, however they are made; nor do two atomic operations.
inline bool conflict(Touch a, Touch b) {
  const auto reads = [](Touch one) { return one == Touch::read || one == Touch::atomic_read; };
  const auto is_atomic = [](Touch one) { return one == Touch::atomic_read || one == Touch::atomic_update; };
  return !(reads(a) && reads(b)) && !(is_atomic(a) && is_atomic(b));
}
// Whatever conflicts with `old` conflicts with `now`, too.
inline bool covers(Touch now, Touch old) {
  return now == old || now == Touch::write || (now == Touch::atomic_update && old == Touch::atomic_read);
}

struct Record {
  std::uint32_t next;   // 0: none
  std::uint32_t warp;   // of the grid; a block has one more, whose lanes are its bulk copies
  std::uint32_t epoch;  // of these lanes
  std::uint32_t lanes;
  std::uint32_t version;  // of what they knew
  unsigned char bytes;    // of the word, a bit each
  Touch touch;
  Place place;
};

class Records {
 public:
  Records() { clear(); }
  void clear() {
    records_.resize(1);  // 0 is no record
    free_ = 0;
  }
  std::uint32_t add(const Record& record) {
    if (free_ == 0) {
      records_.push_back(record);
      return static_cast<std::uint32_t>(records_.size() - 1);
    }
    const std::uint32_t index = free_;
    free_ = records_[index].next;
    records_[index] = record;
    return index;
  }
  void remove(std::uint32_t index) {
    records_[index].next = free_;
    free_ = index;
  }
  Record& operator[](std::uint32_t index) { return records_[index]; }

 private:
  std::vector<Record> records_;
  std::uint32_t free_ = 0;
};

struct Toucher {
  std::uint32_t block, warp, lane;  // warp: of the grid
  std::uint32_t warps;              // of a block, its bulk copies among them
  const Clock* clock;

  bool knows(const Record& record) const {
    const std::uint32_t other = record.warp / warps, number = record.warp % warps;
    const Known* known = other == block ? clock->own.get() : clock->others ? clock->others->find(other) : nullptr;
    const std::uint32_t self = record.warp == warp ? 1u << lane : 0u;
    if (known == nullptr) return false;
    if (known->least_of_warp[number] >= record.epoch) return true;
    for (std::uint32_t left = record.lanes & ~self; left != 0; left &= left - 1)
      if (known->epoch[32 * number + static_cast<std::uint32_t>(__builtin_ctz(left))] < record.epoch) return false;
    return true;
  }

  // Of a record that it does not know: those lanes that it does not know, itself not among them.
  std::uint32_t unknown_lanes(const Record& record) const {
    const std::uint32_t other = record.warp / warps, number = record.warp % warps;
    const Known* known = other == block ? clock->own.get() : clock->others ? clock->others->find(other) : nullptr;
    std::uint32_t lanes = record.warp == warp ? record.lanes & ~(1u << lane) : record.lanes;
    for (std::uint32_t left = lanes; known != nullptr && left != 0; left &= left - 1) {
      const auto one = static_cast<std::uint32_t>(__builtin_ctz(left));
      if (known->epoch[32 * number + one] >= record.epoch) lanes &= ~(1u << one);
    }
    return lanes;
  }
};

// Enters an access to the bytes [address, address + bytes) and gives the record that it races with, if there is one, with the lanes that it
// races with. The first record of a list is of the latest access.
inline std::optional<Record> touch(Memory::Impl& memory, Records& records, std::uint32_t stamp, Address address, std::size_t bytes,
                                   Touch how, const Toucher& who, const Place& place) {
  const Address end = address + bytes;
  const std::uint32_t own = 1u << who.lane;
  for (Address word = address & ~Address{3}; word < end; word += 4) {
    unsigned mask = 0xfu;
    if (word < address) mask &= 0xfu << (address - word);
    if (word + 4 > end) mask &= 0xfu >> (word + 4 - end);
    Cell& cell = memory.cell(word);
    if (cell.stamp != stamp) cell = {stamp, 0};
    // Nobody came between, and this lane has already done as much in this epoch.
    if (cell.first != 0)
      if (const Record& latest = records[cell.first];
          latest.lanes == own && latest.warp == who.warp && latest.epoch == who.clock->epoch && latest.bytes == mask)
        if (covers(latest.touch, how)) continue;

    std::uint32_t before = 0, found = 0;
    for (std::uint32_t i = cell.first; i != 0;) {
      Record& record = records[i];
      const std::uint32_t next = record.next;
      // A lane that knows the same has done the same in the same epoch. What lies further back may be its own, and so news to this one.
      if (found == 0 && record.touch == how && how != Touch::write && record.warp == who.warp && record.epoch == who.clock->epoch &&
          record.version == who.clock->version && record.bytes == mask) {
        record.lanes |= own;
        found = i;
        if (before == 0)
          before = i;
        else
          records[before].next = next;
        i = next;
        continue;
      }
      if ((record.bytes & mask) != 0) {
        const bool known = who.knows(record);
        if (!known && conflict(record.touch, how)) {
          Record racing = record;
          racing.lanes = who.unknown_lanes(record);
          return racing;
        }
        // What is ordered before this access and covered by it needs no memory: whoever is ordered after this one is after that, too.
        if (known && (record.bytes & ~mask) == 0 && covers(how, record.touch)) {
          (before == 0 ? cell.first : records[before].next) = next;
          records.remove(i);
          i = next;
          continue;
        }
      }
      before = i;
      i = next;
    }
    if (found == 0)
      cell.first =
          records.add({cell.first, who.warp, who.clock->epoch, own, who.clock->version, static_cast<unsigned char>(mask), how, place});
    else if (cell.first != found) {
      records[found].next = cell.first;
      cell.first = found;
    }
  }
  return std::nullopt;
}

}  // namespace diecast::simt
