// Who computes what in the next pass of a scheduler: the sequences that wait and that run, their places in the cache and in the prefix tree, and who
// makes room when it is full. It plans; the pass and its logits are the stepper's (stepper.hpp). Belongs to one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <diecast/backend/backend.hpp>
#include <diecast/error.hpp>
#include <diecast/generate/prefix_cache.hpp>
#include <diecast/generate/scheduling.hpp>
#include <diecast/generate/sequences.hpp>

namespace diecast::detail {

class Planner {
 public:
  Planner(std::unique_ptr<Context> context, const SchedulerOptions& options) : options_(options), context_(std::move(context)) {
    if (options.prefix_cache) prefixes_.emplace(context_->table());
  }

  Context& context() { return *context_; }
  BlockTable& table() { return context_->table(); }
  std::span<const Part> parts() const { return parts_; }  // the plan
  int waiting() const { return static_cast<int>(waiting_.size()); }
  int running() const { return static_cast<int>(running_.size()); }

  // What `load` puts into an empty sequence is a known beginning from now on. Returns its tokens.
  template <class Load>
  std::size_t warm(const std::string& salt, const Load& load) {
    if (!prefixes_) throw Error("a scheduler without a prefix cache keeps no beginnings");
    const struct Empty {
      BlockTable& blocks;
      int handle = blocks.add();
      ~Empty() { blocks.remove(handle); }
    } sequence{table()};
    const std::vector<int> ids = load(*context_, sequence.handle);
    PrefixCache::Place place{salt};
    prefixes_->extend(place, sequence.handle, ids);
    return ids.size();
  }

  // The youngest of all.
  void enqueue(std::unique_ptr<Sequence> s) { waiting_.push_back(std::move(s)); }

  template <class Use>
  void each(const Use& use) {
    for (auto* all : {&running_, &waiting_})
      for (const auto& s : *all) use(*s);
  }
  void forget_over() {
    for (auto* all : {&running_, &waiting_}) std::erase_if(*all, [](const auto& s) { return s->over; });
  }

  void plan() {
    parts_.clear();
    int left = options_.step_tokens;
    const auto add = [&](Sequence& s) {
      const int first = table().length(s.handle);
      int count = (std::min)(pending(s), left);
      // A chunk ends with a block where that costs less than half of it: what others compute meanwhile can be taken over there.
      const int whole = (first + count) / BlockTable::block_tokens * BlockTable::block_tokens - first;
      if (count < pending(s) && 2 * whole >= count) count = whole;
      if (count > 0) parts_.push_back({&s, first, count});
      left -= count;
    };
    for (const auto& s : running_)
      if (pending(*s) == 1) add(*s);
    left -= add_drafts();
    for (const auto& s : running_) {
      if (pending(*s) == 1) continue;
      take_known(*s);
      add(*s);
    }
    make_room();
    while (left > 0) {
      Sequence* const joined = admit();
      if (!joined) break;
      add(*joined);
    }
    make_room();  // admission has seen to it that the prefix cache has enough to give
  }

  // What was computed of it is a known beginning from now on.
  void know(Sequence& s) {
    if (prefixes_) prefixes_->extend(s.place, s.handle, s.ids);
  }

  // The other choices of a request whose prompt was just read run from now on, as far as there is room; the rest joins from the queue.
  std::vector<Sequence*> forked(Sequence& original, bool allowed) {
    original.reads = original.group->reading = false;
    std::vector<Sequence*> forks;
    for (auto& s : waiting_) {
      if (s->over || s->group != original.group || s->answers()) continue;
      const bool may = allowed && running() < options_.running && context_->block_bytes() > 0;
      if (!may || (table().free_blocks() == 0 && !evict())) {
        s->trace.stage("queue");
        continue;
      }
      s->handle = context_->fork(original.handle);
      s->place = original.place;
      s->generation.cached(original.generation.answer().usage.cached_tokens);  // each choice says what the request's prompt cost
      forks.push_back(s.get());
      put_in_order(running_, std::move(s));
    }
    std::erase(waiting_, nullptr);
    return forks;
  }

  // It gives its place in the cache back.
  void release(Sequence& s) {
    if (s.handle >= 0) table().remove(s.handle);
    s.handle = -1;
    s.place = {};
    if (std::exchange(s.reads, false)) s.group->reading = false;
  }

  // What it knows of the numbers: those of the cache and of who joined.
  void count(SchedulerStats& stats) {
    stats.running = running();
    stats.sequences = static_cast<int>(parts_.size());
    stats.blocks = table().blocks();
    stats.blocks_free = table().free_blocks();
    stats.blocks_cached = table().idle_blocks();
    stats.preempted = preempted_;
    stats.prompt_tokens = prompt_tokens_;
    stats.cached_tokens = cached_tokens_;
  }

 private:
  int pending(const Sequence& s) { return static_cast<int>(s.ids.size()) - table().length(s.handle); }

  // A few rows cost little more than one, so few answers have room for guesses. Returns how many there are.
  int add_drafts() {
    constexpr int cheap = 16;
    if (options_.draft == 0 || parts_.empty()) return 0;
    const int most = (std::min)(options_.draft, (std::min)(cheap, options_.step_tokens) / static_cast<int>(parts_.size()) - 1);
    int drafted = 0;
    for (Part& part : parts_) {
      if (!part.sequence->answers()) continue;
      part.drafts = part.sequence->drafter.draft(part.sequence->ids, (std::min)(most, part.sequence->left() - 1));
      drafted += static_cast<int>(part.drafts.size());
    }
    return drafted;
  }
  bool drop_drafts() {
    bool any = false;
    for (Part& part : parts_) any = !std::exchange(part.drafts, {}).empty() || any;
    return any;
  }

  int blocks_planned() {
    int blocks = 0;
    for (const Part& part : parts_) blocks += table().blocks_needed(part.sequence->handle, part.rows());
    return blocks;
  }
  bool evict() { return prefixes_ && prefixes_->evict(); }
  // Guesses go; then the prefix cache gives up what nobody uses; then the youngest sequences go back to the queue, until the others have room.
  void make_room() {
    while (blocks_planned() > table().free_blocks()) {
      if (drop_drafts() || evict()) continue;
      auto youngest = std::move(running_.back());
      running_.pop_back();
      std::erase_if(parts_, [&](const Part& part) { return part.sequence == youngest.get(); });
      release(*youngest);
      youngest->sent_back = true;
      ++preempted_;
      if (!youngest->answers()) youngest->trace.stage("queue");
      put_in_order(waiting_, std::move(youngest));
    }
  }

  // The oldest that waits joins, if the cache can take its prompt and a block more for each that runs: else they would throw it out again soon.
  Sequence* admit() {
    const auto first = std::find_if(waiting_.begin(), waiting_.end(), [](const auto& s) { return !s->waits_for_another(); });
    if (first == waiting_.end() || running() >= options_.running) return nullptr;
    Sequence& s = **first;
    join(s);
    const int blocks = table().blocks_needed(s.handle, pending(s)) + running();
    if (blocks + blocks_planned() > table().free_blocks() + table().idle_blocks()) {
      release(s);
      return nullptr;
    }
    begin(s);
    put_in_order(running_, std::move(*first));
    waiting_.erase(first);
    return &s;
  }
  void join(Sequence& s) {
    s.handle = table().add();
    if (prefixes_) s.place = prefixes_->join(s.handle, s.group->salt, s.ids);
  }
  void begin(Sequence& s) {
    if (s.answers()) return;  // it goes on where it was
    s.group->reading = s.reads = true;
    for (const auto& other : waiting_)
      if (other->group == s.group && !other->answers()) other->trace.stage("prefill");
    if (s.sent_back) return;
    prompt_tokens_ += s.ids.size();
    count_known(s, table().length(s.handle));
  }
  // Of a prompt that is being read: what others have computed since it joined.
  void take_known(Sequence& s) {
    if (!prefixes_) return;
    const int before = table().length(s.handle);
    prefixes_->advance(s.place, s.handle, s.ids);
    if (!s.sent_back) count_known(s, table().length(s.handle) - before);
  }
  void count_known(Sequence& s, int tokens) {
    s.generation.cached(s.generation.answer().usage.cached_tokens + tokens);
    cached_tokens_ += static_cast<std::uint64_t>(tokens);
  }

  SchedulerOptions options_;
  std::unique_ptr<Context> context_;
  std::optional<PrefixCache> prefixes_;
  Sequences waiting_, running_;
  std::vector<Part> parts_;
  std::uint64_t preempted_ = 0, prompt_tokens_ = 0, cached_tokens_ = 0;  // since the beginning
};

}  // namespace diecast::detail
