// The one interface of everything that runs steps 3-5 (embed, blocks, head): the reference, the CPU path, a GPU.
// An engine is immutable and shared between threads; a context (cache and scratch) belongs to one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <diecast/backend/block_table.hpp>
#include <diecast/backend/rows.hpp>
#include <diecast/error.hpp>
#include <diecast/spec/spec.hpp>

namespace diecast {

class Trace;

// Next-token logits of the rows that asked for them, in the order of those rows.
struct Logits {
  std::span<const float> values;  // [asked, vocab]; valid until the context's next forward
  int vocab;
  // [asked] or empty: instead of all logits the best of each row, and all that equal the last of them, in ascending order of their ids. What is no
  // number is among them.
  std::span<const std::vector<Candidate>> best{};
  int computed = 0;  // of the rows of a screened head: those whose logits had to be computed, of all that asked

  std::span<const float> row(int i) const {
    return values.subspan(static_cast<std::size_t>(i) * static_cast<std::size_t>(vocab), static_cast<std::size_t>(vocab));
  }
};

class Context {
 public:
  virtual ~Context() = default;
  // Runs steps 3-5 over packed rows. Rows of one sequence come in ascending, gapless positions that continue the sequence;
  // K and V of every row are appended to the cache. Refuses (before any work) ids outside the vocabulary, wrong positions and a full cache.
  virtual Logits forward(std::span<const Row> rows, Trace* trace = nullptr) = 0;
  virtual BlockTable& table() = 0;

  // K and V of one block, all layers, as bytes: to copy a block and to keep a sequence in a file. A backend need not be able to.
  virtual std::size_t block_bytes() const { return 0; }  // 0: it is not
  virtual void read_block(int block, std::span<std::byte> to) const { no_bytes(block, to.size()); }
  virtual void write_block(int block, std::span<const std::byte> from) { no_bytes(block, from.size()); }
  // What the bytes depend on beside the model: backend, type of the cache, precision. Equal layouts understand each other's bytes.
  virtual std::string block_layout() const { return {}; }

  // Another sequence with the same tokens. It costs the copy of one block at most.
  int fork(int sequence) {
    const BlockTable::Fork made = table().fork(sequence);
    if (made.from) {
      std::vector<std::byte> bytes(block_bytes());
      read_block(*made.from, bytes);
      write_block(*made.to, bytes);
    }
    return made.sequence;
  }

 private:
  [[noreturn]] static void no_bytes(int block, std::size_t bytes) {
    throw Error("this backend cannot move the " + std::to_string(bytes) + " bytes of block " + std::to_string(block), Blame::program);
  }
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  virtual const Spec& spec() const = 0;
  // tokens: positions that all sequences of the context may hold together, rounded up to whole blocks.
  virtual std::unique_ptr<Context> open(int tokens) const = 0;
};

}  // namespace diecast
