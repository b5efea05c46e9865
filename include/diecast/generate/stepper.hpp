// The steps of a scheduler: who computes what in the next pass, and what becomes of its logits. Belongs to one thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <diecast/backend/backend.hpp>
#include <diecast/error.hpp>
#include <diecast/generate/draft.hpp>
#include <diecast/generate/prefix_cache.hpp>
#include <diecast/generate/scheduling.hpp>
#include <diecast/generate/sequences.hpp>

namespace diecast::detail {

class Stepper {
 public:
  using Cancelled = std::function<std::vector<Ticket>()>;

  // cancelled: asked before and after each pass for the requests that nobody wants any more.
  Stepper(std::unique_ptr<Context> context, const SchedulerOptions& options, Cancelled cancelled)
      : options_(options), cancelled_(std::move(cancelled)), context_(std::move(context)) {
    if (options.prefix_cache) prefixes_.emplace(context_->table());
  }

  // In the order in which they came.
  void join(Sequences arrived) {
    for (auto& s : arrived) {
      if (s->generation.ended()) end(*s);  // the prompt fills the context
      else waiting_.push_back(std::move(s));
    }
  }

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

  // Whether anything is left to do. A template for <diecast/compiled.hpp>, as in chat/chat_template.hpp.
  template <class = void>
  bool step();

  void end_all(FinishReason reason) {
    end_where([](const Sequence&) { return true; }, reason);
    forget_over();
    waiting_now_ = 0;
  }

  SchedulerStats stats() {
    SchedulerStats stats = counted_;
    stats.running = static_cast<int>(running_.size());
    stats.sequences = static_cast<int>(parts_.size());
    stats.rows = static_cast<int>(rows_.size());
    stats.blocks = table().blocks();
    stats.blocks_free = table().free_blocks();
    stats.blocks_cached = table().idle_blocks();
    return stats;
  }

  // Read from any thread.
  int waiting() const { return waiting_now_; }
  std::int64_t tokens_in_flight() const { return tokens_in_flight_; }
  // From any thread: sequences with so many tokens will join.
  void expect(std::int64_t tokens) { tokens_in_flight_ += tokens; }

 private:
  BlockTable& table() { return context_->table(); }
  int pending(const Sequence& s) { return static_cast<int>(s.ids.size()) - table().length(s.handle); }

  template <class Condition>
  void end_where(const Condition& condition, FinishReason reason) {
    for (auto* all : {&running_, &waiting_})
      for (const auto& s : *all)
        if (!s->over && condition(*s)) end(*s, reason);
  }
  void drop_cancelled() {
    const std::vector<Ticket> cancelled = cancelled_();
    if (cancelled.empty()) return;
    end_where([&](const Sequence& s) { return std::find(cancelled.begin(), cancelled.end(), s.ticket) != cancelled.end(); }, FinishReason::cancelled);
  }
  void drop_late() {
    const auto now = Trace::clock::now();
    end_where([&](const Sequence& s) { return s.deadline && *s.deadline <= now; }, FinishReason::deadline);
  }
  void forget_over() {
    for (auto* all : {&running_, &waiting_}) std::erase_if(*all, [](const auto& s) { return s->over; });
  }

  // What this step computes.
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

  // A few rows cost little more than one, so few answers have room for guesses. Returns how many there are.
  int add_drafts() {
    constexpr int cheap = 16;
    if (options_.draft == 0 || parts_.empty()) return 0;
    const int most = (std::min)(options_.draft, (std::min)(cheap, options_.step_tokens) / static_cast<int>(parts_.size()) - 1);
    int drafted = 0;
    for (Part& part : parts_) {
      if (!part.sequence->answers()) continue;
      part.drafts = draft_from(part.sequence->ids, (std::min)(most, part.sequence->left() - 1));
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
      ++counted_.preempted;
      if (!youngest->answers()) youngest->trace.stage("queue");
      put_in_order(waiting_, std::move(youngest));
    }
  }

  // The oldest that waits joins, if the cache can take its prompt and a block more for each that runs: else they would throw it out again soon.
  Sequence* admit() {
    const auto first = std::find_if(waiting_.begin(), waiting_.end(), [](const auto& s) { return !s->waits_for_another(); });
    if (first == waiting_.end() || static_cast<int>(running_.size()) >= options_.running) return nullptr;
    Sequence& s = **first;
    join(s);
    const int blocks = table().blocks_needed(s.handle, pending(s)) + static_cast<int>(running_.size());
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
    counted_.prompt_tokens += s.ids.size();
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
    counted_.cached_tokens += static_cast<std::uint64_t>(tokens);
  }
  void release(Sequence& s) {
    if (s.handle >= 0) table().remove(s.handle);
    s.handle = -1;
    s.place = {};
    if (std::exchange(s.reads, false)) s.group->reading = false;
  }

  // Runs the plan. Where the backend throws, each part is tried alone, so that only those end whose fault it is.
  void forward() {
    if (parts_.empty()) return;
    ++counted_.steps;
    std::optional<Error> error;
    if (const auto logits = tried(parts_, error)) return give(parts_, *logits, true);
    for (const Part& part : parts_) {
      if (part.sequence->over) continue;
      const std::span one(&part, 1);
      // No forks: they could take the room that is planned for others.
      if (const auto logits = parts_.size() > 1 ? tried(one, error) : std::nullopt) give(one, *logits, false);
      else fail(*part.sequence, *error);
    }
  }
  std::optional<Logits> tried(std::span<const Part> parts, std::optional<Error>& error) {
    rows_.clear();
    Trace* inner = nullptr;
    for (const Part& part : parts) {
      const Sequence& s = *part.sequence;
      for (int i = 0; i < part.count; ++i) rows_.push_back({s.ids[static_cast<std::size_t>(part.first + i)], part.first + i, s.handle, false});
      rows_.back().logits = part.asks();
      rows_.back().best = s.generation.needs(static_cast<int>(part.drafts.size()));
      for (int i = 0; i < static_cast<int>(part.drafts.size()); ++i)
        rows_.push_back({part.drafts[static_cast<std::size_t>(i)], part.first + part.count + i, s.handle, true, rows_.back().best});
      if (!inner) inner = part.sequence->inner();
    }
    try {
      return context_->forward(rows_, inner);
    } catch (...) {
      error = current_error();
      for (const Part& part : parts) table().truncate(part.sequence->handle, part.first);
      return {};
    }
  }
  void give(std::span<const Part> parts, const Logits& logits, bool forks_allowed) {
    drop_cancelled();
    std::size_t row = 0;
    for (const Part& part : parts) {
      Sequence& s = *part.sequence;
      const bool over = s.over, asks = part.asks();
      if (!over && prefixes_) prefixes_->extend(s.place, s.handle, s.ids);
      if (!asks) continue;
      const std::size_t of = std::exchange(row, row + 1 + part.drafts.size());
      if (over) continue;
      const std::vector<Sequence*> forks = s.reads ? forked(s, forks_allowed) : std::vector<Sequence*>();
      choose(s, logits, of);
      if (!part.drafts.empty()) choose_drafted(part, logits, of);
      for (Sequence* fork : forks) choose(*fork, logits, of);  // they need the same of the logits: nothing but the choice is theirs
    }
  }
  // The further tokens that were guessed rightly, and one more. What the cache has of the wrong ones goes.
  void choose_drafted(const Part& part, const Logits& logits, std::size_t row) {
    Sequence& s = *part.sequence;
    std::size_t right = 0;
    while (!s.over && right < part.drafts.size() && s.ids.back() == part.drafts[right]) {
      ++right;
      drop_cancelled();  // the last piece's event may have asked for it
      if (!s.over) choose(s, logits, row + right);
    }
    if (!s.over) table().truncate(s.handle, part.first + part.count + static_cast<int>(right));
  }
  // The other choices of a request whose prompt was just read, as far as there is room; the rest joins from the queue.
  std::vector<Sequence*> forked(Sequence& original, bool allowed) {
    original.reads = original.group->reading = false;
    std::vector<Sequence*> forks;
    for (auto& s : waiting_) {
      if (s->over || s->group != original.group || s->answers()) continue;
      const bool may = allowed && static_cast<int>(running_.size()) < options_.running && context_->block_bytes() > 0;
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
  void choose(Sequence& s, const Logits& logits, std::size_t row) {
    try {
      if (s.events().logits && logits.best.empty()) s.events().logits(logits.row(static_cast<int>(row)));
      const Piece piece = s.generation.next(logits, row, s.trace, s.inner());
      s.ids.push_back(piece.id);
      ++counted_.completion_tokens;
      if (piece.index == 0 && s.events().first) s.events().first(time_to_first_token(s.trace));
      if (s.events().piece) s.events().piece(piece);
      s.generation.delivered(s.trace, static_cast<bool>(s.events().piece));
      if (s.generation.ended()) end(s);
    } catch (...) {
      fail(s, current_error());
    }
  }

  static Error current_error() {
    try {
      throw;
    } catch (const Error& error) {
      return error;
    } catch (const std::exception& error) {
      return Error(error.what(), Blame::program);
    } catch (...) {
      return Error("something was thrown that is no exception", Blame::program);
    }
  }

  void leave(Sequence& s) {
    release(s);
    s.over = true;
    tokens_in_flight_ -= s.tokens();
  }
  void end(Sequence& s, std::optional<FinishReason> reason = {}) {
    leave(s);
    ++(reason == FinishReason::cancelled ? counted_.cancelled : reason == FinishReason::deadline ? counted_.late : counted_.finished);
    Answer answer = s.generation.finish(s.trace, reason);
    try {
      if (s.events().finished) s.events().finished(std::move(answer), s.trace);
    } catch (...) {  // nobody is left to tell
    }
  }
  void fail(Sequence& s, const Error& error) {
    leave(s);
    ++counted_.failed;
    s.trace.end_stage();
    try {
      if (s.events().failed) s.events().failed(error, s.choice());
    } catch (...) {  // as above
    }
  }

  SchedulerOptions options_;
  Cancelled cancelled_;
  std::unique_ptr<Context> context_;
  std::optional<PrefixCache> prefixes_;
  Sequences waiting_, running_;
  std::vector<Part> parts_;
  std::vector<Row> rows_;
  SchedulerStats counted_;
  std::atomic<int> waiting_now_ = 0;
  std::atomic<std::int64_t> tokens_in_flight_ = 0;
};

template <class>
bool Stepper::step() {
  drop_cancelled();
  drop_late();
  forget_over();
  plan();
  waiting_now_ = static_cast<int>(waiting_.size());
  forward();
  forget_over();
  waiting_now_ = static_cast<int>(waiting_.size());
  return !waiting_.empty() || !running_.empty();
}

}  // namespace diecast::detail
