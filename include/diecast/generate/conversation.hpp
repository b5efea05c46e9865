// A conversation as its user has it: say something, read the answer. The system prompt, the template, the messages so far, the model's own sampling
// defaults and the stop strings are looked after here; the session computes only what is new in each turn.
//   for (const Piece& piece : conversation.say("Hello")) std::cout << piece.text;
#pragma once

#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <diecast/error.hpp>
#include <diecast/generate/engine.hpp>
#include <diecast/generate/session.hpp>
#include <diecast/sample/defaults.hpp>

namespace diecast {

struct ConversationOptions {
  std::optional<std::string> system{};
  SamplingChoice sampling{};        // what it leaves open is the model's to say
  std::optional<int> max_tokens{};  // of each answer
  std::vector<std::string> stop{};
  std::optional<int> logprobs{};
  SessionOptions session{};
};

// Belongs to one thread and stays where it is; the engine may go.
class Conversation {
 public:
  explicit Conversation(const Engine& engine, ConversationOptions options = {})
      : session_(engine.session(options.session)), system_(std::move(options.system)),
        request_{.prompt = {}, .sampling = resolve(options.sampling, engine.model().generation), .max_tokens = resolve_max_tokens(options.max_tokens, engine.model().generation),
                 .stop = std::move(options.stop), .logprobs = options.logprobs} {
    if (!engine.has_template()) throw Error(engine.model().name + " has no chat template: it is a base model, which continues plain text");
    restart();
  }
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  // The user's turn; the answer comes as a range of pieces, computed one by one. A loop that is left ends the answer, which stays in the conversation
  // as far as it went. Where there is no room for an answer it throws PromptTooLong, and the conversation is as it was before.
  Session::Stream& say(std::string text, std::stop_token cancel = {}, Trace* trace = nullptr) {
    settle();
    messages_.push_back({"user", std::move(text)});
    try {
      current_.emplace(session_.generate(messages_, request_, std::move(cancel), trace));
      if (current_->room() == 0) throw PromptTooLong(static_cast<std::size_t>(session_.context_tokens()), session_.context_tokens());  // it fits, its answer does not
    } catch (...) {
      current_.reset();
      messages_.pop_back();
      throw;
    }
    return *current_;
  }
  // The same, and the whole answer.
  Answer ask(std::string text, std::stop_token cancel = {}, Trace* trace = nullptr) {
    for ([[maybe_unused]] const Piece& piece : say(std::move(text), std::move(cancel), trace)) continue;
    return current_->answer();
  }

  // What was said, the answer that is being read included: it ends here.
  const std::vector<Message>& messages() {
    settle();
    return messages_;
  }
  // Goes on from these messages in place of its own.
  void restart(std::vector<Message> messages) {
    current_.reset();
    messages_ = std::move(messages);
  }
  void restart() {
    restart({});
    if (system_) messages_.push_back({"system", *system_});
  }
  Session& session() { return session_; }

 private:
  void settle() {
    if (!current_) return;
    messages_.push_back({"assistant", current_->answer().text});
    current_.reset();
  }

  Session session_;
  std::optional<std::string> system_;
  Request request_;
  std::vector<Message> messages_;
  std::optional<Session::Stream> current_;  // the answer that is being read
};

}  // namespace diecast
