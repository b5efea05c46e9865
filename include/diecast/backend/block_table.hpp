// The KV cache's bookkeeping: fixed-size blocks of positions, a list of blocks for each sequence. Plain integers, no storage:
// every backend keeps K and V in its own layout and asks here where a position lies. One sequence is the simple case.
// Full blocks may be shared: each counts its holders (sequences, and at most one prefix cache) and is free when nobody holds it. A block
// that has room left belongs to one sequence alone, so nobody ever writes where others read (Kwon et al. 2023, PagedAttention).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
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
    holders_.assign(static_cast<std::size_t>(blocks_), 0);
    kept_.assign(static_cast<std::size_t>(blocks_), false);
  }

  int blocks() const { return blocks_; }
  int free_blocks() const { return static_cast<int>(free_.size()); }
  int idle_blocks() const { return idle_; }  // that are kept and that no sequence holds
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
    if (s.length == static_cast<int>(s.blocks.size()) * block_tokens) s.blocks.push_back(take());
    else if (holders(s.blocks.back()) > 1) throw Error("block " + std::to_string(s.blocks.back()) + " is shared and cannot be written", Blame::program);
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
      release(s.blocks.back());
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

  const std::vector<int>& blocks_of(int sequence) const { return at(sequence).blocks; }
  int holders(int block) const { return holders_[static_cast<std::size_t>(block)]; }

  // A prefix cache holds a full block, too, or no longer.
  void keep(int block) {
    hold(block);
    kept_[static_cast<std::size_t>(block)] = true;
  }
  void drop(int block) {
    if (holders(block) == 1) --idle_;
    kept_[static_cast<std::size_t>(block)] = false;
    release(block);
  }

  // A sequence that is empty or ends with its block goes on with these full blocks, which somebody holds.
  void share(int sequence, std::span<const int> blocks) {
    Sequence& s = at(sequence);
    if (s.length % block_tokens != 0)
      throw Error("sequence " + std::to_string(sequence) + " has " + std::to_string(s.length) + " tokens and cannot go on with shared blocks", Blame::program);
    for (const int block : blocks) {
      hold(block);
      s.blocks.push_back(block);
    }
    s.length += static_cast<int>(blocks.size()) * block_tokens;
  }
  // In place of a full block of the sequence another that holds the same.
  void replace(int sequence, int index, int block) {
    Sequence& s = at(sequence);
    int& own = s.blocks.at(static_cast<std::size_t>(index));
    if ((index + 1) * block_tokens > s.length) throw Error("block " + std::to_string(own) + " is not full and cannot be replaced", Blame::program);
    if (own == block) return;
    hold(block);
    release(own);
    own = block;
  }
  // A sequence with the same tokens: full blocks are shared; what lies in a block that has room left is copied by the context (backend.hpp).
  struct Fork {
    int sequence;
    std::optional<int> from{}, to{};  // the block to be copied
  };
  Fork fork(int sequence) {
    const Sequence original = at(sequence);
    const auto full = static_cast<std::size_t>(original.length / block_tokens);
    const bool tail = original.length % block_tokens != 0;
    Fork made{-1};
    if (tail) made.from = original.blocks[full], made.to = take();
    made.sequence = add();
    share(made.sequence, std::span(original.blocks).first(full));
    if (made.to) at(made.sequence).blocks.push_back(*made.to);
    at(made.sequence).length = original.length;
    return made;
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

  int take() {
    if (free_.empty())
      throw Error("the cache is full: all " + std::to_string(blocks_) + " blocks of " + std::to_string(block_tokens) + " tokens are in use");
    const int block = free_.back();
    free_.pop_back();
    hold(block);
    return block;
  }
  void hold(int block) {
    int& count = holders_[static_cast<std::size_t>(block)];
    if (count == 1 && kept_[static_cast<std::size_t>(block)]) --idle_;
    ++count;
  }
  void release(int block) {
    int& count = holders_[static_cast<std::size_t>(block)];
    if (--count == 0) free_.push_back(block);
    else if (count == 1 && kept_[static_cast<std::size_t>(block)]) ++idle_;
  }

  int blocks_;
  int idle_ = 0;
  std::vector<int> free_;
  std::vector<int> holders_;  // [blocks]
  std::vector<bool> kept_;    // [blocks]: whether a prefix cache is among the holders
  std::vector<Sequence> sequences_;
};

}  // namespace diecast
