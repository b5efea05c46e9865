// A model ready to answer: what the file says, its tokenizer, its chat template, its generation defaults, and the backend that runs it.
// Immutable and shared between threads; each conversation opens a session of its own.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <diecast/backend/backend.hpp>
#include <diecast/chat/chat_template.hpp>
#include <diecast/error.hpp>
#include <diecast/files/model.hpp>
#include <diecast/generate/scheduler.hpp>
#include <diecast/generate/session.hpp>
#include <diecast/sample/defaults.hpp>
#include <diecast/tokens/tokenizer.hpp>

namespace diecast {

class Engine {
 public:
  // `parsed`: the template as the compiler parsed it; it is used where it is the file's own text.
  Engine(Model model, std::shared_ptr<const Backend> backend, std::shared_ptr<const Tokenizer> tokenizer, const std::optional<chat::Tree>& parsed = {})
      : model_(std::move(model)), backend_(std::move(backend)), tokenizer_(std::move(tokenizer)) {
    if (!model_.chat_template) return;
    if (parsed && parsed->source == *model_.chat_template) template_.emplace(*parsed);
    else template_.emplace(*model_.chat_template);
    // For what may outlive the engine. Made here, where the template language is compiled anyway, and not again wherever a session is opened.
    render_ = [shared = *template_, bos = marker(tokenizer_->bos), eos = marker(tokenizer_->eos)](std::span<const Message> messages) {
      return shared.render(messages, true, bos, eos);
    };
  }

  const Model& model() const { return model_; }
  const Spec& spec() const { return model_.spec; }
  const Backend& backend() const { return *backend_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  bool has_template() const { return template_.has_value(); }

  // Step 1: what the model's own template makes of the messages, ending with the tokens that begin an answer.
  PromptText prompt(std::span<const Message> messages, bool add_generation_prompt = true) const {
    if (!template_) throw Error(model_.name + " has no chat template: it is a base model, which continues plain text (--raw)");
    return template_->render(messages, add_generation_prompt, marker(tokenizer_->bos), marker(tokenizer_->eos));
  }
  // A user's words as the model wants them: through its template, or plain where it has none.
  PromptText prompt(std::string_view user) const {
    if (!template_) return plain_text(std::string(user));
    const Message message{"user", std::string(user)};
    return prompt(std::span(&message, 1));
  }

  // How the model is sampled where the user says nothing.
  SamplingOptions sampling() const { return resolve({}, model_.generation); }

  Session session(SessionOptions options = {}) const { return Session(backend_, tokenizer_, model_.generation.eos, options, render_); }

  // For many at once; the engine may go, what it shares stays.
  Scheduler scheduler(SchedulerOptions options = {}) const { return Scheduler(backend_, tokenizer_, model_.generation.eos, options); }

  // One question, one answer.
  Answer answer(std::string_view user) const { return session().generate({.prompt = prompt(user), .sampling = sampling(), .max_tokens = resolve_max_tokens({}, model_.generation)}); }

 private:
  std::string marker(const std::optional<int>& id) const { return id ? std::string(tokenizer_->piece(*id)) : std::string(); }

  Model model_;
  std::shared_ptr<const Backend> backend_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::optional<ChatTemplate> template_;
  Session::Render render_;
};

}  // namespace diecast
