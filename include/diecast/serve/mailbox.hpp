// From the thread that steps to the thread that serves: what happened to a request's answers, in order. Bounded: where its reader does not take
// the text, the mailbox overflows, nothing more is kept, and the request is to be cancelled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <diecast/error.hpp>
#include <diecast/generate/answer.hpp>
#include <diecast/trace/timing.hpp>
#include <diecast/trace/trace.hpp>

namespace diecast::serve {

struct First {  // the stages up to the choice of the first token
  Timing timing;
};
struct Token {
  std::uint32_t choice;
  std::string text;
  std::optional<TokenLogprobs> logprobs;
};
struct Finished {
  Answer answer;
  Trace trace;
};
struct Failed {
  std::uint32_t choice;
  Error error;
};
using Event = std::variant<First, Token, Finished, Failed>;

class Mailbox {
 public:
  // wake: called from the other thread, once for all events that lie here untaken.
  Mailbox(std::size_t most_bytes, std::function<void()> wake) : most_(most_bytes), wake_(std::move(wake)) {}

  void put(Event event) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto* token = std::get_if<Token>(&event)) bytes_ += sizeof(Event) + token->text.size() + (token->logprobs ? token->logprobs->top.size() * sizeof(TokenLogprob) : 0);
      if (bytes_ > most_) overflowed_ = true;
      if (!overflowed_ || !std::holds_alternative<Token>(event)) events_.push_back(std::move(event));
      if (std::exchange(called_, true)) return;
    }
    wake_();
  }

  std::vector<Event> take() {
    const std::lock_guard lock(mutex_);
    called_ = false;
    bytes_ = 0;
    return std::exchange(events_, {});
  }
  bool empty() const {
    const std::lock_guard lock(mutex_);
    return events_.empty() && !overflowed_;
  }
  bool overflowed() const {
    const std::lock_guard lock(mutex_);
    return overflowed_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Event> events_;
  std::size_t bytes_ = 0;
  std::size_t most_;
  bool called_ = false, overflowed_ = false;
  std::function<void()> wake_;
};

}  // namespace diecast::serve
