// What is asked of a scheduler and what comes back: limits, a request with its events, refusals, and the numbers to watch.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include <diecast/error.hpp>
#include <diecast/generate/answer.hpp>
#include <diecast/trace/timing.hpp>
#include <diecast/trace/trace.hpp>

namespace diecast {

struct SchedulerOptions {
  int cache_tokens = 8192;        // positions that all sequences hold together: the memory
  std::optional<int> context{};   // tokens of one prompt and its answer together; absent: all that the model and the cache can hold
  int running = 32;               // sequences that run at once
  int step_tokens = 128;          // rows of one step: every running answer's next token first, prompts with what is left
  int waiting = 256;              // requests that wait; more are refused
  std::optional<std::int64_t> tokens_in_flight{};  // prompts and the most that may be answered, of all accepted requests; more are refused
  int draft = 0;                  // tokens drafted from each answer itself (draft.hpp), as far as a step stays small: changes no answer
  bool prefix_cache = true;       // prompts that begin alike share the K and V of their whole blocks
};

// Called on the thread that steps, never two at once, never under a lock: they may submit and cancel, but whatever they wait for, all answers
// wait for. What one throws fails its own request only. Each choice of a request ends with exactly one call of `finished` or `failed`.
struct RequestEvents {
  std::function<void(const Timing&)> first{};   // the stages up to the choice of the first token, just before its piece
  std::function<void(const Piece&)> piece{};    // valid during the call; without it the answer counts as not streamed
  std::function<void(Answer&&, const Trace&)> finished{};
  std::function<void(const Error&, std::uint32_t choice)> failed{};
  std::function<void(std::span<const float>)> logits{};  // the model's, of each choice, just before it; only where log-probabilities are asked for
};

struct ScheduledRequest {
  Request request{};
  RequestEvents events{};
  int choices = 1;  // answers to this prompt: they share its prefill. They are numbered from request.choice on
  std::optional<Trace::clock::time_point> deadline{};  // then the answer ends, however far it is, with finish reason `deadline`
  std::string salt{};     // only requests of equal salt share cached prefixes
  Trace trace{};  // begins with the request's arrival, perhaps with a stage `template`; goes on with [tokenize,] queue, prefill, sample, send, decode
  bool inner_spans = false;  // also what the backend does in its steps, the company's part included; in each step for the first that asks
};

// Known from submit on; cancels.
using Ticket = std::uint64_t;

// A request that is refused for what else goes on, not for what it asks: it may come again.
class Refused : public Error {
 public:
  enum class Reason { queue_full, tokens_in_flight, closed };
  Refused(Reason reason, const std::string& sentence) : Error(sentence, Blame::program), reason_(reason) {}
  Reason reason() const noexcept { return reason_; }

 private:
  Reason reason_;
};

// As of the last step; what was accepted since then counts as waiting.
struct SchedulerStats {
  int waiting = 0, running = 0;        // sequences
  std::int64_t tokens_in_flight = 0;   // prompt tokens and the most that may be answered, of both
  int rows = 0, sequences = 0;         // of the last step: its batch
  int blocks = 0, blocks_free = 0, blocks_cached = 0;  // cached: held by nobody but the prefix cache, given up when they are needed
  std::uint64_t steps = 0, refused = 0, finished = 0, cancelled = 0, late = 0, failed = 0, preempted = 0;  // since the beginning
  std::uint64_t prompt_tokens = 0, cached_tokens = 0, completion_tokens = 0;                               // of answers that began
};

}  // namespace diecast
