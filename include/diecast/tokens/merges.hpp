// The merges of a byte-pair encoding: which two neighbouring tokens become one, and in which order (Sennrich et al. 2016).
// Looked up by the pair of ids in an open hash table. A word is merged through a heap of its candidate pairs, lowest rank first, then
// leftmost: n log n for n bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <diecast/files/arrays.hpp>
#include <diecast/tokens/slots.hpp>

namespace diecast {

struct Merge {
  std::int32_t left = -1;
  std::int32_t right = -1;
  std::int32_t result = -1;
};

// In order of rank, with an open hash table of places in that list beside it: what is asked most, a pair that is no merge, touches the small
// table alone.
class MergeTable {
 public:
  explicit MergeTable(std::size_t merges)
      : merges_(std::vector<Merge>(merges)), slots_(std::vector<std::uint32_t>(std::bit_ceil(merges * 2 + 2), empty)), shift_(64 - std::countr_zero(slots_.size())) {}

  // As save() left it, for this many ids.
  MergeTable(std::size_t ids, ArrayReader& from)
      : merges_(from.get<Merge>("the merges")), slots_(from.get<std::uint32_t>("the places of merges")), size_(merges_.size()), shift_(64 - std::countr_zero(slots_.size())) {
    check_slots(slots_.all(), empty, merges_.size(), "places of merges", from);
    for (const Merge& merge : merges_.all())
      for (const std::int32_t id : {merge.left, merge.right, merge.result})
        if (id < 0 || static_cast<std::size_t>(id) >= ids) from.fail("a merge has the id " + std::to_string(id) + " of " + std::to_string(ids));
  }
  void save(ArrayWriter& to) const {
    to.put(merges_.all().first(size_));
    to.put(slots_.all());
  }

  // Starts to fetch what insert() will need.
  void prepare(const Merge& merge) const { __builtin_prefetch(&slots_[first_slot(merge.left, merge.right)]); }
  // In order of rank; a pair that is there already keeps its earlier, better one. At most as many as the constructor was told.
  void insert(const Merge& merge) {
    std::uint32_t& slot = slots_.own()[find_slot(merge.left, merge.right)];
    if (slot != empty) return;
    slot = static_cast<std::uint32_t>(size_);
    merges_.own()[size_++] = merge;
  }
  // Of two merges in the table, the one at the lower address has the lower rank.
  const Merge* find(std::int32_t left, std::int32_t right) const {
    const std::uint32_t slot = slots_[find_slot(left, right)];
    return slot == empty ? nullptr : &merges_[slot];
  }

 private:
  static constexpr std::uint32_t empty = 0xFFFFFFFF;

  std::size_t first_slot(std::int32_t left, std::int32_t right) const {
    std::uint64_t key = static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
    key = (key ^ key >> 32) * 0x9E3779B97F4A7C15u;  // Fibonacci hashing: the best mixed bits are the highest
    return static_cast<std::size_t>((key ^ key << 32) >> shift_);
  }
  std::size_t find_slot(std::int32_t left, std::int32_t right) const {
    std::size_t index = first_slot(left, right);
    for (; slots_[index] != empty; index = (index + 1) & (slots_.size() - 1)) {
      const Merge& merge = merges_[slots_[index]];
      if (merge.left == left && merge.right == right) break;
    }
    return index;
  }

  Array<Merge> merges_;
  Array<std::uint32_t> slots_;
  std::size_t size_ = 0;  // merges that are there
  int shift_;
};

// Merges words; keeps its memory from word to word.
class WordMerger {
 public:
  explicit WordMerger(const MergeTable& table) : table_(table) {}

  // Appends the tokens of a word to `out`; `ids` are the tokens of its bytes.
  void merge(const std::vector<std::int32_t>& ids, std::vector<int>& out) {
    symbols_.clear();
    heap_.clear();
    const auto count = static_cast<std::int32_t>(ids.size());
    for (std::int32_t i = 0; i < count; ++i) symbols_.push_back({ids[static_cast<std::size_t>(i)], i - 1, i + 1 < count ? i + 1 : -1});
    for (std::int32_t i = 0; i + 1 < count; ++i) consider(i);
    std::make_heap(heap_.begin(), heap_.end(), later);
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), later);
      const Candidate best = heap_.back();
      heap_.pop_back();
      Symbol& left = symbols_[static_cast<std::size_t>(best.position)];
      if (left.id != best.merge->left || left.next < 0) continue;  // one of the two was merged away meanwhile
      Symbol& right = symbols_[static_cast<std::size_t>(left.next)];
      if (right.id != best.merge->right) continue;
      left.id = best.merge->result;
      right.id = -1;
      left.next = right.next;
      if (right.next >= 0) symbols_[static_cast<std::size_t>(right.next)].previous = best.position;
      if (left.previous >= 0 && consider(left.previous)) std::push_heap(heap_.begin(), heap_.end(), later);
      if (left.next >= 0 && consider(best.position)) std::push_heap(heap_.begin(), heap_.end(), later);
    }
    for (std::int32_t i = count > 0 ? 0 : -1; i >= 0; i = symbols_[static_cast<std::size_t>(i)].next) {
      out.push_back(symbols_[static_cast<std::size_t>(i)].id);
    }
  }

 private:
  struct Symbol {
    std::int32_t id;  // -1: part of the token on its left
    std::int32_t previous;
    std::int32_t next;
  };
  struct Candidate {
    const Merge* merge;
    std::int32_t position;
  };
  static bool later(const Candidate& a, const Candidate& b) {
    return a.merge != b.merge ? a.merge > b.merge : a.position > b.position;
  }

  bool consider(std::int32_t position) {
    const Symbol& left = symbols_[static_cast<std::size_t>(position)];
    const Merge* merge = table_.find(left.id, symbols_[static_cast<std::size_t>(left.next)].id);
    if (merge) heap_.push_back({merge, position});
    return merge != nullptr;
  }

  const MergeTable& table_;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
};

}  // namespace diecast
