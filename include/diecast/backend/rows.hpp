// What a backend is given: packed token rows. Padding, masks and batches end at the door (door.hpp); no backend ever sees a pad.
#pragma once

#include <map>
#include <span>
#include <string>
#include <variant>

#include <diecast/backend/block_table.hpp>
#include <diecast/error.hpp>
#include <diecast/sample/candidate.hpp>
#include <diecast/spec/spec.hpp>

namespace diecast {

struct Row {
  int id;        // token
  int position;  // in its sequence, from 0
  int sequence;  // a handle of the context's block table
  bool logits;   // whether this row's next-token logits are asked for
  Best best{};   // whether the likeliest of them are enough; all rows of a pass that ask must say so, else all get all
};

// Refuses what no backend could run, before any work: ids outside the vocabulary, positions that do not continue their sequence
// or lie beyond the context, and rows that do not fit the cache.
inline void check_rows(const Spec& spec, const BlockTable& table, std::span<const Row> rows) {
  std::map<int, int> added;  // tokens by sequence
  for (const Row& row : rows) {
    if (row.id < 0 || row.id >= spec.vocab)
      throw Error("token id " + std::to_string(row.id) + " is outside the vocabulary of " + std::to_string(spec.vocab));
    if (!table.alive(row.sequence)) throw Error("there is no sequence " + std::to_string(row.sequence), Blame::program);
    const int expected = table.length(row.sequence) + added[row.sequence]++;
    if (row.position != expected)
      throw Error("sequence " + std::to_string(row.sequence) + " continues at position " + std::to_string(expected) + ", not " + std::to_string(row.position), Blame::program);
    if (row.best.count < 0 || row.best.ids < 0 || row.best.ids > spec.vocab)
      throw Error("the best " + std::to_string(row.best.count) + " of " + std::to_string(row.best.ids) + " ids are asked for, there are " + std::to_string(spec.vocab), Blame::program);
    if (row.position >= spec.context)
      throw Error("position " + std::to_string(row.position) + " lies beyond the context of " + std::to_string(spec.context) + " tokens");
  }
  int needed = 0;
  for (const auto& [sequence, tokens] : added) needed += table.blocks_needed(sequence, tokens);
  if (needed > table.free_blocks())
    throw Error("the cache is full: " + std::to_string(needed) + " more blocks of " + std::to_string(BlockTable::block_tokens) + " tokens are needed, " +
                std::to_string(table.free_blocks()) + " are free");
}

}  // namespace diecast
