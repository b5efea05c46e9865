// The order of work inside the kernel that runs whole tokens: which stages there are, how many blocks have work in each, and which stages a
// block must know to be finished before it begins one. One constexpr function of the model's shape and the number of blocks (one an SM): the
// compiler checks it for counts that are known, the host's plan computes it for the device at hand and gives it to the kernel.
//
// A stage has one counter. A block that had work in it adds 1 when it is done; who needs the stage waits until the counter has reached workers *
// (how often the stage has been run). What a block knows: the stages that it waited for, and what their workers knew when they began. Blocks
// without work in a stage neither wait nor arrive.
#pragma once

#include <array>
#include <cstdint>

#include <diecast/kernels/model_shape.hpp>
#include <diecast/kernels/stage.hpp>

namespace diecast::kernels {

struct Use {
  unsigned reads, writes;
  constexpr bool conflicts(const Use& later) const { return (writes & (later.reads | later.writes)) != 0 || (reads & later.writes) != 0; }
};

constexpr Use use_of(const ModelShape& m, Stage stage) {
  const bool adds = m.norm_after;  // the reader of a branch adds it, and moves the hidden states to the other place
  const unsigned into_attention = hidden | (adds ? branch : 0u), into_mlp = adds ? other_hidden | branch : hidden;
  const unsigned result = adds ? branch : hidden;
  switch (stage) {
    case Stage::embed:
      return {token_rows, hidden | best_ids};
    case Stage::qkv:
      return {token_rows | into_attention, queries | kv_cache | (adds ? other_hidden : 0u)};
    case Stage::project:
      return {token_rows | into_attention, projected | (adds ? other_hidden : 0u)};
    case Stage::norm_rope:
      return {token_rows | projected, queries | kv_cache};
    case Stage::attention:
      return {token_rows | queries | kv_cache, attended | partials};
    case Stage::output:
      return {token_rows | attended | (adds ? 0u : hidden), result};
    case Stage::gate_up:
      return {token_rows | into_mlp, inner | (adds ? hidden : 0u)};
    case Stage::down:
      return {token_rows | inner | (adds ? 0u : hidden), result};
    case Stage::head:
      return {token_rows | hidden | (adds ? branch : 0u), logits | best_ids};
    case Stage::draw:
      return {token_rows | logits | best_ids, drawn_ids};
    case Stage::advance:
      return {best_ids | drawn_ids | token_rows, token_rows};
  }
  return {};
}

struct Schedule {
  static constexpr int most = 10, most_waits = 3;
  struct Entry {
    Stage stage{};
    int workers = 0;          // blocks 0 to workers - 1 take part
    int waits[most_waits]{};  // entries whose last run must be finished; -1: none
  };
  int count = 0;
  int layer_begin = 0, layer_end = 0;  // entries that are run for every layer
  Entry at[most]{};

  constexpr int find(Stage stage) const {
    for (int i = 0; i < count; ++i)
      if (at[i].stage == stage) return i;
    return -1;
  }
};

namespace detail {

// The entries in the order in which a block comes to them, over some tokens and layers.
struct Runs {
  static constexpr int most = 64;
  int count = 0;
  int entry[most]{};
  constexpr Runs(const Schedule& s, int tokens, int layers) {
    for (int token = 0; token < tokens; ++token) {
      for (int i = 0; i < s.layer_begin; ++i) entry[count++] = i;
      for (int layer = 0; layer < layers; ++layer)
        for (int i = s.layer_begin; i < s.layer_end; ++i) entry[count++] = i;
      for (int i = s.layer_end; i < s.count; ++i) entry[count++] = i;
    }
  }
};

// knows[run]: bits of the earlier runs that every worker of `run` knows to be finished when it begins. Of the blocks that have work there, the last one
// has been through the fewest stages: it has waited only where there were at least as many workers.
constexpr std::array<std::uint64_t, Runs::most> knowledge(const Schedule& s, const Runs& runs) {
  std::array<std::uint64_t, Runs::most> knows{};
  for (int run = 0; run < runs.count; ++run) {
    const int workers = s.at[runs.entry[run]].workers;
    for (int past = 0; past <= run; ++past) {
      const Schedule::Entry& entry = s.at[runs.entry[past]];
      if (entry.workers < workers) continue;
      for (const int waits : entry.waits)
        for (int done = past - 1; waits >= 0 && done >= 0; --done)
          if (runs.entry[done] == waits) {  // and all of its runs before that one, which the same blocks did earlier
            knows[static_cast<std::size_t>(run)] |= knows[static_cast<std::size_t>(done)];
            for (int earlier = done; earlier >= 0; --earlier)
              if (runs.entry[earlier] == waits) knows[static_cast<std::size_t>(run)] |= std::uint64_t{1} << earlier;
            break;
          }
    }
  }
  return knows;
}

constexpr bool conflict(const ModelShape& m, const Schedule::Entry& past, const Schedule::Entry& run) {
  return past.workers > 0 && run.workers > 0 && use_of(m, past.stage).conflicts(use_of(m, run.stage));
}

constexpr void add_wait(Schedule::Entry& entry, int waits) {
  for (int& place : entry.waits) {
    if (place == waits) return;
    if (place < 0) {
      place = waits;
      return;
    }
  }
  throw "a stage waits for more stages than there is room for";
}

}  // namespace detail

constexpr int work_blocks(std::int64_t items, int per_block, int blocks) {
  const std::int64_t wanted = (items + per_block - 1) / per_block;
  return static_cast<int>(wanted < blocks ? wanted : blocks);
}

// Where no row draws, the draw's stage has no workers, and nobody waits for it.
constexpr Schedule make_schedule(const ModelShape& m, int blocks, bool draws = false) {
  const int warps = m.team.threads / warp_lanes, all_heads = m.heads.heads + 2 * m.heads.kv_heads;
  const int pairs = (m.rotary.value + 1) / 2 + (m.heads.head_dim - m.rotary.value + 1) / 2;
  Schedule s;
  const auto add = [&](Stage stage, std::int64_t items) { s.at[s.count++] = {stage, work_blocks(items, warps, blocks), {-1, -1, -1}}; };
  const auto add_all = [&](Stage stage) { s.at[s.count++] = {stage, blocks, {-1, -1, -1}}; };  // how much work depends on the rows
  add_all(Stage::embed);
  s.layer_begin = s.count;
  if (m.head_norms == HeadNorms::none) {
    add(Stage::qkv, static_cast<std::int64_t>(all_heads) * pairs);
  } else {
    add(Stage::project, static_cast<std::int64_t>(all_heads) * m.heads.head_dim);
    add_all(Stage::norm_rope);
  }
  if (m.branches == Branches::beside) add(Stage::gate_up, m.mlp.width);
  add_all(Stage::attention);
  add(Stage::output, m.hidden);
  if (m.branches == Branches::in_order) add(Stage::gate_up, m.mlp.width);
  add(Stage::down, m.hidden);
  s.layer_end = s.count;
  add(Stage::head, m.vocab);
  add(Stage::draw, draws ? static_cast<std::int64_t>(blocks) * warps : 0);  // a block takes a row
  s.at[s.count++] = {Stage::advance, 1, {-1, -1, -1}};

  // Waits where data goes from one stage to another, or a place is used anew, and nothing says yet that this is safe. The nearest stage first: it knows
  // most of those before it.
  s.at[0].waits[0] = s.count - 1;  // every block reads whether there is a next token
  for (const int layers : {1, 2, 3}) {
    const detail::Runs runs(s, 2, layers);
    auto knows = detail::knowledge(s, runs);
    for (int run = 0; run < runs.count; ++run)
      for (int past = run - 1; past >= 0; --past) {
        if (!detail::conflict(m, s.at[runs.entry[past]], s.at[runs.entry[run]]) || (knows[static_cast<std::size_t>(run)] >> past & 1u) != 0)
          continue;
        detail::add_wait(s.at[runs.entry[run]], runs.entry[past]);
        knows = detail::knowledge(s, runs);
      }
  }
  return s;
}

// Every use of a place comes after the uses that it must not meet, for two tokens of one, two and four layers; nobody waits for what has not begun, or for a
// stage without workers.
constexpr bool is_ordered(const ModelShape& m, const Schedule& s) {
  for (const int layers : {1, 2, 4}) {
    const detail::Runs runs(s, 2, layers);
    const auto knows = detail::knowledge(s, runs);
    for (int run = 0; run < runs.count; ++run)
      for (int past = 0; past < run; ++past)
        if (detail::conflict(m, s.at[runs.entry[past]], s.at[runs.entry[run]]) && (knows[static_cast<std::size_t>(run)] >> past & 1u) == 0)
          return false;
  }
  return true;
}

// Blocks run as far as they can, one after another from the last to the first, until nobody moves: whether all come to the end, with every counter at
// what its waiters expect.
constexpr bool finishes(const Schedule& s, int blocks, int layers) {
  const detail::Runs runs(s, 2, layers);
  std::array<std::uint32_t, Schedule::most> counter{};
  std::array<int, 256> at{};
  if (blocks > 256) return false;
  for (bool moved = true; moved;) {
    moved = false;
    for (int block = blocks - 1; block >= 0; --block) {
      int& run = at[static_cast<std::size_t>(block)];
      while (run < runs.count) {
        const Schedule::Entry& entry = s.at[runs.entry[run]];
        if (block < entry.workers) {
          bool ready = true;
          for (const int waits : entry.waits) {
            if (waits < 0) continue;
            std::uint32_t times = 0;
            for (int past = 0; past < run; ++past) times += runs.entry[past] == waits ? 1u : 0u;
            ready = ready && counter[static_cast<std::size_t>(waits)] >= times * static_cast<std::uint32_t>(s.at[waits].workers);
          }
          if (!ready) break;
          ++counter[static_cast<std::size_t>(runs.entry[run])];
        }
        ++run;
        moved = true;
      }
    }
  }
  for (int block = 0; block < blocks; ++block)
    if (at[static_cast<std::size_t>(block)] != runs.count) return false;
  return true;
}

}  // namespace diecast::kernels
