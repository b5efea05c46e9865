// From the thread that steps to the thread that serves: what happened to a request's answers, in order. It takes everything and says how much lies in
// it: whether that is too much is to be judged by who knows why nobody takes it.
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
// The sentence, and no exception: the text of a std::runtime_error is shared by its copies, under a count of the library's that a thread sanitizer does
// not see.
struct Failed {
  Failed(std::uint32_t which, const Error& error) : choice(which), sentence(error.what()), blame(error.blame()) {}
  Error error() const { return Error(sentence, blame); }

  std::uint32_t choice;
  std::string sentence;
  Blame blame;
};
using Event = std::variant<First, Token, Finished, Failed>;

class Mailbox {
 public:
  // wake: called from the other thread, once for all events that lie here untaken.
  explicit Mailbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  void put(Event event) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto* token = std::get_if<Token>(&event)) bytes_ += sizeof(Event) + token->text.size() + (token->logprobs ? token->logprobs->top.size() * sizeof(TokenLogprob) : 0);
      events_.push_back(std::move(event));
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
    return events_.empty();
  }
  // Of tokens that nobody has taken yet.
  std::size_t bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Event> events_;
  std::size_t bytes_ = 0;
  bool called_ = false;
  std::function<void()> wake_;
};

}  // namespace diecast::serve
