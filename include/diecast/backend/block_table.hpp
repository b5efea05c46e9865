// The KV cache's bookkeeping: fixed-size blocks of positions, a list of blocks for each sequence. Plain integers, no storage:
// every backend keeps K and V in its own layout and asks here where a position lies. One sequence is the simple case.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <diecast/error.hpp>

namespace diecast {

class BlockTable {
 public:
  static constexpr int block_tokens = 16;

  explicit BlockTable(int tokens) : blocks_((tokens + block_tokens - 1) / block_tokens) {
    if (tokens < 1) throw Error("a cache holds at least 1 token, not " + std::to_string(tokens));
    for (int block = blocks_ - 1; block >= 0; --block) free_.push_back(block);
  }

  int blocks() const { return blocks_; }
  int free_blocks() const { return static_cast<int>(free_.size()); }
  int capacity() const { return blocks_ * block_tokens; }

  // A new empty sequence; its handle is the lowest one that is not in use.
  int add() {
    for (std::size_t handle = 0; handle < sequences_.size(); ++handle)
      if (!sequences_[handle].alive) {
        sequences_[handle] = {.alive = true};
        return static_cast<int>(handle);
      }
    sequences_.push_back({.alive = true});
    return static_cast<int>(sequences_.size()) - 1;
  }

  // Gives the sequence's blocks back.
  void remove(int sequence) {
    truncate(sequence, 0);
    at(sequence).alive = false;
  }

  int length(int sequence) const { return at(sequence).length; }

  // Makes room for one more position and returns it.
  int append(int sequence) {
    Sequence& s = at(sequence);
    if (s.length == static_cast<int>(s.blocks.size()) * block_tokens) {
      if (free_.empty())
        throw Error("the cache is full: all " + std::to_string(blocks_) + " blocks of " + std::to_string(block_tokens) + " tokens are in use");
      s.blocks.push_back(free_.back());
      free_.pop_back();
    }
    return s.length++;
  }

  // How many new blocks `tokens` more positions of this sequence would take.
  int blocks_needed(int sequence, int tokens) const {
    const Sequence& s = at(sequence);
    return (s.length + tokens + block_tokens - 1) / block_tokens - static_cast<int>(s.blocks.size());
  }

  // Forgets all positions from `length` on.
  void truncate(int sequence, int length) {
    Sequence& s = at(sequence);
    if (length < 0 || length > s.length)
      throw Error("sequence " + std::to_string(sequence) + " has " + std::to_string(s.length) + " tokens and cannot be cut to " + std::to_string(length), Blame::program);
    s.length = length;
    const auto needed = static_cast<std::size_t>((length + block_tokens - 1) / block_tokens);
    while (s.blocks.size() > needed) {
      free_.push_back(s.blocks.back());
      s.blocks.pop_back();
    }
  }

  // Where a position is stored: slot / block_tokens is the block, slot % block_tokens the place in it.
  std::size_t slot(int sequence, int position) const {
    const Sequence& s = at(sequence);
    if (position < 0 || position >= s.length)
      throw Error("sequence " + std::to_string(sequence) + " has " + std::to_string(s.length) + " tokens, position " + std::to_string(position) + " was asked", Blame::program);
    return static_cast<std::size_t>(s.blocks[static_cast<std::size_t>(position / block_tokens)]) * block_tokens + static_cast<std::size_t>(position % block_tokens);
  }

  bool alive(int sequence) const {
    return sequence >= 0 && sequence < static_cast<int>(sequences_.size()) && sequences_[static_cast<std::size_t>(sequence)].alive;
  }

 private:
  struct Sequence {
    bool alive = false;
    int length = 0;
    std::vector<int> blocks{};
  };

  Sequence& at(int sequence) { return const_cast<Sequence&>(static_cast<const BlockTable*>(this)->at(sequence)); }
  const Sequence& at(int sequence) const {
    if (!alive(sequence)) throw Error("there is no sequence " + std::to_string(sequence), Blame::program);
    return sequences_[static_cast<std::size_t>(sequence)];
  }

  int blocks_;
  std::vector<int> free_;
  std::vector<Sequence> sequences_;
};

}  // namespace diecast
