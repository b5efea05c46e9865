// Step 7 for many at once: requests join and leave between steps. One step is one pass of the backend over the next token of every running answer
// and over chunks of prompts. Whoever submits may do so from any thread; one thread steps (continuous batching: Yu et al. 2022, Orca).
//
// Order: first come, first served. Every running answer gets its token in each step; prompts share what is left of `step_tokens`, the oldest
// first. Memory: a request is admitted when the cache can take its prompt; answers take a block when they need one. When none is left, the prefix
// cache gives up what was used longest ago; then the youngest sequence goes back to the queue, to be computed again: on the reference and the CPU
// path it goes on with the same bits. The oldest sequence always goes on, so everybody's turn comes.
// The choices of one request are read once: they fork when the prompt is in the cache, and from then on are sequences like all others.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <diecast/backend/backend.hpp>
#include <diecast/error.hpp>
#include <diecast/generate/generation.hpp>
#include <diecast/generate/prefix_cache.hpp>
#include <diecast/generate/scheduling.hpp>

namespace diecast {

class Scheduler {
 public:
  // eos: every id that ends an answer, of all sources; the tokenizer's own joins them.
  Scheduler(std::shared_ptr<const Backend> backend, std::shared_ptr<const Tokenizer> tokenizer, std::vector<int> eos, SchedulerOptions options = {})
      : backend_(std::move(backend)), speech_(std::move(tokenizer), std::move(eos), backend_->spec().vocab), options_(options) {
    const int most = (std::min)(backend_->spec().context, options.cache_tokens);
    context_tokens_ = options.context.value_or(most);
    if (context_tokens_ < 1 || context_tokens_ > most)
      throw Error("a context of " + std::to_string(context_tokens_) + " tokens was asked, model and cache hold 1 to " + std::to_string(most));
    if (options.running < 1 || options.step_tokens < options.running)
      throw Error("a step of " + std::to_string(options.step_tokens) + " tokens cannot serve " + std::to_string(options.running) + " sequences: at least 1 runs, and each takes a token");
    if (options.waiting < 1) throw Error("a queue of " + std::to_string(options.waiting) + " requests is impossible: one at least must be able to wait for its step");
    context_ = backend_->open(options.cache_tokens);
    if (options.prefix_cache) prefixes_.emplace(context_->table());
  }

  // From any thread. Tokenizes on the caller's. Throws an Error where the request is impossible, and Refused where it comes at a bad time.
  Ticket submit(ScheduledRequest request) {
    check(request.request);
    if (request.choices < 1) throw Error(std::to_string(request.choices) + " choices were asked, 1 is the least");
    {
      const std::lock_guard lock(mutex_);  // before the work of reading the prompt
      refuse_if_full(request.choices, 0);
    }
    Arrivals made = sequences_of(std::move(request));
    std::int64_t tokens = 0;
    for (const auto& sequence : made) tokens += sequence->tokens();
    Ticket ticket;
    {
      const std::lock_guard lock(mutex_);
      refuse_if_full(static_cast<int>(made.size()), tokens);
      ticket = ++last_ticket_;
      tokens_in_flight_ += tokens;
      for (auto& sequence : made) {
        sequence->ticket = ticket;
        arrived_.push_back(std::move(sequence));
      }
    }
    wake_.notify_one();
    return ticket;
  }

  // From any thread. The request's answers end as `cancelled`, with what they have, in the next step at the latest; one that is over already stays as it is.
  void cancel(Ticket ticket) {
    {
      const std::lock_guard lock(mutex_);
      cancelled_.push_back(ticket);
    }
    wake_.notify_one();
  }

  // From any thread.
  SchedulerStats stats() const {
    const std::lock_guard lock(mutex_);
    SchedulerStats now = stats_;
    now.waiting += static_cast<int>(arrived_.size());
    now.tokens_in_flight = tokens_in_flight_;
    return now;
  }

  // From any thread: what is new is refused from now on, what was accepted is answered; then run() returns.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    wake_.notify_one();
  }

  // One step: whoever joins or leaves, one pass of the backend, what it gives. Whether anything is left to do.
  bool step() {
    take_arrivals();
    drop_cancelled();
    drop_late();
    forget_over();
    plan();
    forward();
    forget_over();
    return publish();
  }

  // Steps until stop is requested (what is not finished ends as cancelled) or until it is closed and everything is answered. Sleeps when there is nothing to do.
  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (step()) continue;
      std::unique_lock lock(mutex_);
      if (closed_ && arrived_.empty()) return;
      wake_.wait(lock, stop, [this] { return !arrived_.empty() || closed_; });
    }
    take_arrivals();
    for (auto* all : {&running_, &waiting_}) {
      for (const auto& s : *all) end(*s, FinishReason::cancelled);
      all->clear();
    }
    publish();
  }

  int context_tokens() const { return context_tokens_; }

 private:
  // What the choices of a request share.
  struct Group {
    RequestEvents events;
    std::string salt;
    bool reading = false;  // one of them computes the prompt for all
  };
  struct Sequence {
    std::shared_ptr<Group> group;
    Generation generation;
    Trace trace;
    std::optional<Trace::clock::time_point> deadline;
    bool inner_spans;
    std::vector<int> ids;  // prompt and answer: what belongs into the cache, in order
    Ticket ticket = 0;
    int handle = -1;  // in the block table, while it runs
    PrefixCache::Place place{};
    bool began = false, reads = false, over = false;

    const RequestEvents& events() const { return group->events; }
    std::int64_t tokens() const { return generation.answer().usage.prompt_tokens + generation.room(); }
    bool answers() const { return !generation.answer().ids.empty(); }
    bool waits_for_another() const { return group->reading && !answers(); }
    Trace* inner() { return inner_spans ? &trace : nullptr; }
    bool older_than(const Sequence& other) const { return std::pair(ticket, generation.answer().choice) < std::pair(other.ticket, other.generation.answer().choice); }
  };
  using Arrivals = std::vector<std::unique_ptr<Sequence>>;
  // Of a step: these ids of a sequence.
  struct Part {
    Sequence* sequence;
    int first, count;
    bool asks() const { return static_cast<std::size_t>(first + count) == sequence->ids.size(); }
  };

  void refuse_if_full(int choices, std::int64_t tokens) {
    const auto refuse = [this](Refused::Reason reason, const std::string& sentence) {
      ++stats_.refused;
      throw Refused(reason, sentence);
    };
    if (closed_) refuse(Refused::Reason::closed, "no further requests are taken");
    const int waiting = stats_.waiting + static_cast<int>(arrived_.size());
    if (waiting > 0 && waiting + choices > options_.waiting)
      refuse(Refused::Reason::queue_full, std::to_string(waiting) + " requests wait already, and " + std::to_string(options_.waiting) + " may");
    if (options_.tokens_in_flight && tokens_in_flight_ > 0 && tokens_in_flight_ + tokens > *options_.tokens_in_flight)
      refuse(Refused::Reason::tokens_in_flight, std::to_string(tokens) + " more tokens were asked for, " + std::to_string(tokens_in_flight_) + " of " +
                                                    std::to_string(*options_.tokens_in_flight) + " are in flight");
  }

  Arrivals sequences_of(ScheduledRequest&& asked) const {
    const std::vector<int> prompt = prompt_ids(asked.request, *speech_.tokenizer, context_tokens_, asked.trace);
    for (const int id : prompt)
      if (id < 0 || id >= backend_->spec().vocab)
        throw Error("token id " + std::to_string(id) + " is outside the vocabulary of " + std::to_string(backend_->spec().vocab));
    const auto group = std::make_shared<Group>(Group{std::move(asked.events), std::move(asked.salt)});
    asked.trace.stage("queue");
    Arrivals made;
    for (int i = 0; i < asked.choices; ++i, ++asked.request.choice)
      made.push_back(std::make_unique<Sequence>(Sequence{.group = group, .generation = {speech_, asked.request, prompt, context_tokens_}, .trace = asked.trace,
                                                         .deadline = asked.deadline, .inner_spans = asked.inner_spans, .ids = prompt}));
    return made;
  }

  // ---- from here on: only the thread that steps

  BlockTable& table() { return context_->table(); }
  int pending(const Sequence& s) { return static_cast<int>(s.ids.size()) - table().length(s.handle); }

  void take_arrivals() {
    Arrivals arrived;
    {
      const std::lock_guard lock(mutex_);
      arrived.swap(arrived_);
      stats_.waiting += static_cast<int>(arrived.size());
    }
    for (auto& s : arrived) {
      if (s->generation.ended()) end(*s);  // the prompt fills the context
      else waiting_.push_back(std::move(s));
    }
  }

  template <class Condition>
  void end_where(const Condition& condition, FinishReason reason) {
    for (auto* all : {&running_, &waiting_})
      for (const auto& s : *all)
        if (!s->over && condition(*s)) end(*s, reason);
  }
  void drop_cancelled() {
    std::vector<Ticket> cancelled;
    {
      const std::lock_guard lock(mutex_);
      cancelled.swap(cancelled_);
    }
    if (!cancelled.empty()) end_where([&](const Sequence& s) { return std::find(cancelled.begin(), cancelled.end(), s.ticket) != cancelled.end(); }, FinishReason::cancelled);
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
      const int count = (std::min)(pending(s), left);
      if (count > 0) parts_.push_back({&s, table().length(s.handle), count});
      left -= count;
    };
    for (const bool decodes : {true, false})
      for (const auto& s : running_)
        if ((pending(*s) == 1) == decodes) add(*s);
    make_room();
    while (left > 0 && admit()) add(*running_.back());
    make_room();  // admission has seen to it that the prefix cache has enough to give
  }

  int blocks_planned() {
    int blocks = 0;
    for (const Part& part : parts_) blocks += table().blocks_needed(part.sequence->handle, part.count);
    return blocks;
  }
  bool evict() { return prefixes_ && prefixes_->evict(); }
  // The prefix cache gives up what nobody uses; then the youngest sequences go back to the queue, until the others have room.
  void make_room() {
    while (blocks_planned() > table().free_blocks()) {
      if (evict()) continue;
      auto youngest = std::move(running_.back());
      running_.pop_back();
      std::erase_if(parts_, [&](const Part& part) { return part.sequence == youngest.get(); });
      release(*youngest);
      ++counted_.preempted;
      if (!youngest->answers()) youngest->trace.stage("queue");
      put_in_order(waiting_, std::move(youngest));
    }
  }

  // The oldest that waits joins, if the cache can take its prompt and a block more for each that runs: else they would throw it out again soon.
  bool admit() {
    const auto first = std::find_if(waiting_.begin(), waiting_.end(), [](const auto& s) { return !s->waits_for_another(); });
    if (first == waiting_.end() || static_cast<int>(running_.size()) >= options_.running) return false;
    Sequence& s = **first;
    join(s);
    const int blocks = table().blocks_needed(s.handle, pending(s)) + static_cast<int>(running_.size());
    if (blocks + blocks_planned() > table().free_blocks() + table().idle_blocks()) {
      release(s);
      return false;
    }
    begin(s);
    running_.push_back(std::move(*first));
    waiting_.erase(first);
    return true;
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
    if (std::exchange(s.began, true)) return;
    const int cached = table().length(s.handle);
    s.generation.cached(cached);
    counted_.prompt_tokens += s.ids.size();
    counted_.cached_tokens += static_cast<std::uint64_t>(cached);
  }
  static void put_in_order(Arrivals& among, std::unique_ptr<Sequence> s) {
    const auto place = std::find_if(among.begin(), among.end(), [&](const auto& other) { return s->older_than(*other); });
    among.insert(place, std::move(s));
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
    if (const auto logits = tried(parts_, error)) return give(parts_, *logits);
    for (const Part& part : parts_) {
      if (part.sequence->over) continue;
      const std::span one(&part, 1);
      if (const auto logits = parts_.size() > 1 ? tried(one, error) : std::nullopt) give(one, *logits);
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
  void give(std::span<const Part> parts, const Logits& logits) {
    drop_cancelled();
    int row = 0;
    for (const Part& part : parts) {
      Sequence& s = *part.sequence;
      const bool over = s.over;
      if (!over && prefixes_) prefixes_->extend(s.place, s.handle, s.ids);
      if (!part.asks()) continue;
      const auto of = logits.row(row++);
      if (over) continue;
      const std::vector<Sequence*> forks = s.reads ? forked(s) : std::vector<Sequence*>();
      choose(s, of);
      for (Sequence* fork : forks) choose(*fork, of);
    }
  }
  // The other choices of a request whose prompt was just read, as far as there is room; the rest joins from the queue.
  std::vector<Sequence*> forked(Sequence& original) {
    original.reads = original.group->reading = false;
    std::vector<Sequence*> forks;
    for (auto& s : waiting_) {
      if (s->over || s->group != original.group || s->answers()) continue;
      const bool room = static_cast<int>(running_.size()) < options_.running && context_->block_bytes() > 0 && (table().free_blocks() > 0 || evict());
      if (!room) {
        s->trace.stage("queue");
        continue;
      }
      s->handle = context_->fork(original.handle);
      s->place = original.place;
      s->began = true;
      s->generation.cached(original.generation.answer().usage.cached_tokens);  // each choice says what the request's prompt cost
      forks.push_back(s.get());
      put_in_order(running_, std::move(s));
    }
    std::erase(waiting_, nullptr);
    return forks;
  }
  void choose(Sequence& s, std::span<const float> logits) {
    try {
      const Piece piece = s.generation.next(logits, s.trace, s.inner());
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
    const std::lock_guard lock(mutex_);
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
      if (s.events().failed) s.events().failed(error, s.generation.answer().choice);
    } catch (...) {  // as above
    }
  }

  bool publish() {
    const std::lock_guard lock(mutex_);
    const std::uint64_t refused = stats_.refused;
    stats_ = counted_;
    stats_.refused = refused;
    stats_.waiting = static_cast<int>(waiting_.size());
    stats_.running = static_cast<int>(running_.size());
    stats_.sequences = static_cast<int>(parts_.size());
    stats_.rows = static_cast<int>(rows_.size());
    stats_.blocks = table().blocks();
    stats_.blocks_free = table().free_blocks();
    stats_.blocks_cached = table().idle_blocks();
    return !waiting_.empty() || !running_.empty() || !arrived_.empty();
  }

  std::shared_ptr<const Backend> backend_;
  Speech speech_;
  SchedulerOptions options_;
  int context_tokens_ = 0;

  mutable std::mutex mutex_;  // guards these
  std::condition_variable_any wake_;
  Arrivals arrived_;
  std::vector<Ticket> cancelled_;
  bool closed_ = false;
  Ticket last_ticket_ = 0;
  std::int64_t tokens_in_flight_ = 0;
  SchedulerStats stats_;

  std::unique_ptr<Context> context_;  // from here on: of the thread that steps
  std::optional<PrefixCache> prefixes_;
  Arrivals waiting_, running_;        // the oldest first
  std::vector<Part> parts_;
  std::vector<Row> rows_;
  SchedulerStats counted_;
};

}  // namespace diecast
