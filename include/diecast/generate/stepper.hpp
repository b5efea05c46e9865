// The steps of a scheduler: each is one pass of the backend over what was planned (planner.hpp), and what becomes of its logits: tokens and events,
// answers that end, requests that fail. Belongs to one thread.
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
#include <diecast/generate/planner.hpp>
#include <diecast/generate/scheduling.hpp>
#include <diecast/generate/sequences.hpp>

namespace diecast::detail {

class Stepper {
 public:
  using Cancelled = std::function<std::vector<Ticket>()>;

  // cancelled: asked before and after each pass for the requests that nobody wants any more.
  Stepper(std::unique_ptr<Context> context, const SchedulerOptions& options, Cancelled cancelled)
      : cancelled_(std::move(cancelled)), planner_(std::move(context), options) {}

  // In the order in which they came.
  void join(Sequences arrived) {
    for (auto& s : arrived) {
      if (s->generation.ended()) end(*s);  // the prompt fills the context
      else planner_.enqueue(std::move(s));
    }
  }

  template <class Load>
  std::size_t warm(const std::string& salt, const Load& load) {
    return planner_.warm(salt, load);
  }

  // Whether anything is left to do. A template for <diecast/compiled.hpp>, as in chat/chat_template.hpp.
  template <class = void>
  bool step();

  void end_all(FinishReason reason) {
    end_where([](const Sequence&) { return true; }, reason);
    planner_.forget_over();
    waiting_now_ = 0;
  }

  SchedulerStats stats() {
    SchedulerStats stats = counted_;
    stats.rows = static_cast<int>(rows_.size());
    planner_.count(stats);
    return stats;
  }

  // Read from any thread.
  int waiting() const { return waiting_now_; }
  std::int64_t tokens_in_flight() const { return tokens_in_flight_; }
  // From any thread: sequences with so many tokens will join.
  void expect(std::int64_t tokens) { tokens_in_flight_ += tokens; }

 private:
  template <class Condition>
  void end_where(const Condition& condition, FinishReason reason) {
    planner_.each([&](Sequence& s) {
      if (!s.over && condition(s)) end(s, reason);
    });
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

  // Runs the plan. Where the backend throws, each part is tried alone, so that only those end whose fault it is.
  void forward() {
    const std::span<const Part> parts = planner_.parts();
    if (parts.empty()) return;
    ++counted_.steps;
    std::optional<Error> error;
    if (const auto logits = tried(parts, error)) return give(parts, *logits, true);
    for (const Part& part : parts) {
      if (part.sequence->over) continue;
      const std::span one(&part, 1);
      // No forks: they could take the room that is planned for others.
      if (const auto logits = parts.size() > 1 ? tried(one, error) : std::nullopt) give(one, *logits, false);
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
      return planner_.context().forward(rows_, inner);
    } catch (...) {
      error = current_error();
      for (const Part& part : parts) planner_.table().truncate(part.sequence->handle, part.first);
      return {};
    }
  }
  void give(std::span<const Part> parts, const Logits& logits, bool forks_allowed) {
    drop_cancelled();
    std::size_t row = 0;
    for (const Part& part : parts) {
      Sequence& s = *part.sequence;
      const bool over = s.over, asks = part.asks();
      if (!over) planner_.know(s);
      if (!asks) continue;
      const std::size_t of = std::exchange(row, row + 1 + part.drafts.size());
      if (over) continue;
      const std::vector<Sequence*> forks = s.reads ? planner_.forked(s, forks_allowed) : std::vector<Sequence*>();
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
    s.drafter.judge(part.drafts.size(), right);
    if (!s.over) planner_.table().truncate(s.handle, part.first + part.count + static_cast<int>(right));
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
    planner_.release(s);
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

  Cancelled cancelled_;
  Planner planner_;
  std::vector<Row> rows_;
  SchedulerStats counted_;
  std::atomic<int> waiting_now_ = 0;
  std::atomic<std::int64_t> tokens_in_flight_ = 0;
};

template <class>
bool Stepper::step() {
  drop_cancelled();
  drop_late();
  planner_.forget_over();
  planner_.plan();
  waiting_now_ = planner_.waiting();
  forward();
  planner_.forget_over();
  waiting_now_ = planner_.waiting();
  return planner_.waiting() + planner_.running() > 0;
}

}  // namespace diecast::detail
