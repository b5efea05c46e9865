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
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <diecast/backend/backend.hpp>
#include <diecast/error.hpp>
#include <diecast/generate/generation.hpp>
#include <diecast/generate/scheduling.hpp>
#include <diecast/generate/sequence_file.hpp>
#include <diecast/generate/sequences.hpp>
#include <diecast/generate/stepper.hpp>

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
      throw Error("a step of " + std::to_string(options.step_tokens) + " tokens cannot serve " + std::to_string(options.running) +
                  " sequences: at least 1 runs, and each takes a token");
    if (options.draft < 0) throw Error("drafts of " + std::to_string(options.draft) + " tokens are impossible");
    if (options.waiting < 1)
      throw Error("a queue of " + std::to_string(options.waiting) + " requests is impossible: one at least must be able to wait for its step");
    stepper_.emplace(backend_->open(options.cache_tokens), options, [this] { return cancelled(); });
    publish();
  }

  // From any thread. Tokenizes on the caller's. Throws an Error where the request is impossible, and Refused where it comes at a bad time.
  Ticket submit(ScheduledRequest request) {
    check(request.request);
    if (request.choices < 1 || request.choices > options_.waiting)
      throw Error(std::to_string(request.choices) + " choices were asked, 1 to " + std::to_string(options_.waiting) + " are possible");
    {
      const std::lock_guard lock(mutex_);  // before the work of reading the prompt
      refuse_if_full(request.choices, 0);
    }
    detail::Sequences made = sequences_of(std::move(request));
    std::int64_t tokens = 0;
    for (const auto& sequence : made) tokens += sequence->tokens();
    Ticket ticket;
    {
      const std::lock_guard lock(mutex_);
      refuse_if_full(static_cast<int>(made.size()), tokens);
      ticket = ++last_ticket_;
      stepper_->expect(tokens);
      for (auto& sequence : made) {
        sequence->ticket = ticket;
        arrived_.push_back(std::move(sequence));
      }
    }
    wake_.notify_one();
    return ticket;
  }

  // From any thread. The request's answers end as `cancelled` with what they have, in the next step at the latest; one that is over stays as it is.
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
    now.waiting = waiting();
    now.tokens_in_flight = stepper_->tokens_in_flight();
    now.refused = refused_;
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

  // Before the first step: what a session has saved (sequence_file.hpp) is known as if it had been computed here. Returns its tokens.
  std::size_t warm(const std::string& path, std::string_view identity, const std::string& salt = {}) {
    return stepper_->warm(salt, [&](Context& context, int sequence) { return load_sequence(path, identity, backend_->spec(), context, sequence, context_tokens_); });
  }

  // One step: whoever joins or leaves, one pass of the backend, what it gives. Whether anything is left to do.
  bool step() {
    stepper_->join(arrivals());
    const bool more = stepper_->step();
    return publish() || more;
  }

  // Steps until stop is requested (what is not finished ends as cancelled) or until it is closed and everything is answered.
  // Sleeps when there is nothing to do.
  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (step()) continue;
      std::unique_lock lock(mutex_);
      wake_.wait(lock, stop, [this] { return !arrived_.empty() || closed_; });
      if (closed_ && arrived_.empty()) return;
    }
    stepper_->join(arrivals());
    stepper_->end_all(FinishReason::cancelled);
    publish();
  }

  int context_tokens() const { return context_tokens_; }

 private:
  int waiting() const { return stepper_->waiting() + static_cast<int>(arrived_.size()); }

  void refuse_if_full(int choices, std::int64_t tokens) {
    const auto refuse = [this](Refused::Reason reason, const std::string& sentence) {
      ++refused_;
      throw Refused(reason, sentence);
    };
    if (closed_) refuse(Refused::Reason::closed, "no further requests are taken");
    if (waiting() + choices > options_.waiting)
      refuse(Refused::Reason::queue_full, std::to_string(waiting()) + " requests wait already, and " + std::to_string(options_.waiting) + " may");
    const std::int64_t in_flight = stepper_->tokens_in_flight();
    if (options_.tokens_in_flight && in_flight > 0 && in_flight + tokens > *options_.tokens_in_flight)
      refuse(Refused::Reason::tokens_in_flight, std::to_string(tokens) + " more tokens were asked for, " + std::to_string(in_flight) + " of " +
                                                    std::to_string(*options_.tokens_in_flight) + " are in flight");
  }

  detail::Sequences sequences_of(ScheduledRequest&& asked) const {
    const std::vector<int> prompt = prompt_ids(asked.request, *speech_.tokenizer, context_tokens_, asked.trace);
    for (const int id : prompt)
      if (id < 0 || id >= backend_->spec().vocab)
        throw Error("token id " + std::to_string(id) + " is outside the vocabulary of " + std::to_string(backend_->spec().vocab));
    const auto group = std::make_shared<detail::Group>(detail::Group{std::move(asked.events), std::move(asked.salt)});
    asked.trace.stage("queue");
    detail::Sequences made;
    for (int i = 0; i < asked.choices; ++i, ++asked.request.choice) {
      Generation generation(speech_, asked.request, prompt, context_tokens_);
      detail::Sequence sequence{group, std::move(generation), asked.trace, asked.deadline, asked.inner_spans, prompt};
      made.push_back(std::make_unique<detail::Sequence>(std::move(sequence)));
    }
    return made;
  }

  // ---- the thread that steps

  detail::Sequences arrivals() {
    const std::lock_guard lock(mutex_);
    joined_ = last_ticket_;
    return std::exchange(arrived_, {});
  }
  // Of those that have joined; whoever has not is cancelled when he has.
  std::vector<Ticket> cancelled() {
    const std::lock_guard lock(mutex_);
    const auto later = std::partition(cancelled_.begin(), cancelled_.end(), [this](Ticket ticket) { return ticket > joined_; });
    const std::vector<Ticket> now(later, cancelled_.end());
    cancelled_.erase(later, cancelled_.end());
    return now;
  }
  // Whether somebody has come meanwhile.
  bool publish() {
    const std::lock_guard lock(mutex_);
    stats_ = stepper_->stats();
    return !arrived_.empty();
  }

  std::shared_ptr<const Backend> backend_;
  Speech speech_;
  SchedulerOptions options_;
  int context_tokens_ = 0;

  mutable std::mutex mutex_;  // guards what follows, but for the stepper
  std::condition_variable_any wake_;
  detail::Sequences arrived_;
  std::vector<Ticket> cancelled_;
  bool closed_ = false;
  Ticket last_ticket_ = 0, joined_ = 0;
  std::uint64_t refused_ = 0;
  SchedulerStats stats_;

  std::optional<detail::Stepper> stepper_;
};

}  // namespace diecast
