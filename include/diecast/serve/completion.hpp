// One request for completions on its way: submitted, then its events become the parts of a response. Who writes them to a socket says when the
// first text has left, which ends the time to the first token. Destroyed early, it cancels what still runs.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <diecast/generate/scheduler.hpp>
#include <diecast/serve/asked.hpp>
#include <diecast/serve/mailbox.hpp>
#include <diecast/serve/reply.hpp>

namespace diecast::serve {

class Completion {
 public:
  using clock = Trace::clock;

  Completion(Scheduler& scheduler, const Tokenizer& tokenizer, Asked asked, ReplyJson json, clock::time_point arrival, std::shared_ptr<Mailbox> mail)
      : scheduler_(scheduler), asked_(std::move(asked)), logprobs_json_(asked_.chat, tokenizer), json_(std::move(json)), arrival_(arrival), mail_(std::move(mail)) {}
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;
  ~Completion() { cancel(); }

  // Tokenizes. Throws where one of the requests is refused; those before it are cancelled then.
  void submit(std::vector<ScheduledRequest> requests) {
    choices_.resize(requests.size() * static_cast<std::size_t>(asked_.choices));
    for (std::size_t i = 0; i < requests.size(); ++i) {
      ScheduledRequest& one = requests[i];
      const auto first = static_cast<std::uint32_t>(i) * static_cast<std::uint32_t>(asked_.choices);
      one.events.first = [mail = mail_](const Timing& timing) { mail->put(First{timing}); };
      if (asked_.stream)
        one.events.piece = [mail = mail_, first](const Piece& piece) {
          mail->put(Token{first + piece.choice, std::string(piece.text), piece.logprobs ? std::optional(*piece.logprobs) : std::nullopt});
        };
      one.events.finished = [mail = mail_, first](Answer&& answer, const Trace& trace) {
        answer.choice += first;
        mail->put(Finished{std::move(answer), trace});
      };
      one.events.failed = [mail = mail_, first](const Error& error, std::uint32_t choice) { mail->put(Failed(first + choice, error)); };
      tickets_.push_back(scheduler_.submit(std::move(one)));
    }
  }
  void cancel() {
    if (!over())
      for (const Ticket ticket : std::exchange(tickets_, {})) scheduler_.cancel(ticket);
  }

  const Mailbox& mail() const { return *mail_; }
  bool streamed() const { return asked_.stream; }
  bool over() const { return events_.empty() && ended_ == choices_.size(); }
  bool pending() const { return !events_.empty(); }
  // The stages before `send`; nothing before the first token.
  const std::optional<Timing>& known() const { return timing_; }
  // An error that came before any token: it can still be the response's status.
  const std::optional<Error>& failed() const { return failed_; }
  const Usage& usage() const { return usage_; }
  std::string_view finish_reason() const { return finish_reason_; }

  // Takes what lies in the mailbox.
  void take() {
    for (Event& event : mail_->take()) {
      if (const auto* first = std::get_if<First>(&event)) know(first->timing);
      if (const auto* finished = std::get_if<Finished>(&event)) know(finished->answer.timing);
      if (const auto* failed = std::get_if<Failed>(&event); failed && !begun_) failed_ = failed->error();
      events_.push_back(std::move(event));
    }
  }

  // The next parts of a stream, up to the first visible text: then sent() is to be called when it has left.
  std::string next() {
    std::string out;
    while (!events_.empty() && !text_leaves_) {
      Event event = std::move(events_.front());
      events_.pop_front();
      if (auto* token = std::get_if<Token>(&event)) out += said(*token);
      if (auto* finished = std::get_if<Finished>(&event)) out += ended(finished->answer);
      if (auto* failed = std::get_if<Failed>(&event)) out += broke(*failed);
    }
    begun_ = begun_ || !out.empty();
    return out;
  }
  void sent() {
    if (std::exchange(text_leaves_, false)) stamp();
  }

  // The whole response, when all answers are there.
  bool whole() const {
    const auto is_end = [](const Event& event) { return std::holds_alternative<Finished>(event) || std::holds_alternative<Failed>(event); };
    return static_cast<std::size_t>(std::count_if(events_.begin(), events_.end(), is_end)) == choices_.size();
  }
  Json response() {
    Json choices = Json::array();
    std::vector<Answer> answers(choices_.size());
    for (Event& event : events_)
      if (auto* finished = std::get_if<Finished>(&event)) answers[finished->answer.choice] = std::move(finished->answer);
    events_.clear();
    ended_ = choices_.size();
    for (const Answer& answer : answers) {
      std::size_t before = 0;
      count(answer);
      choices.push_back(json_.choice(answer.choice, answer.text, true, asked_.logprobs ? logprobs_json_(answer.logprobs, before) : Json(), name(answer.finish_reason)));
    }
    stamp();
    Json json = json_.with(std::move(choices));
    json["usage"] = usage_json(usage_);
    json["timing"] = timing_json(*timing_);
    return json;
  }

 private:
  struct Choice {
    bool begun = false;
    std::size_t characters = 0;             // that its tokens wrote
    std::vector<TokenLogprobs> logprobs{};  // of tokens whose text is not visible yet
  };

  std::string begin(std::uint32_t index) {
    Choice& choice = choices_[index];
    if (std::exchange(choice.begun, true) || !asked_.chat) return {};
    return event(json_.choice(index, "", true, nullptr, {}));
  }
  std::string said(Token& token) {
    std::string out = begin(token.choice);
    Choice& choice = choices_[token.choice];
    if (token.logprobs) choice.logprobs.push_back(std::move(*token.logprobs));
    if (token.text.empty()) return out;
    if (!stamped_) text_leaves_ = true;
    return out + event(json_.choice(token.choice, token.text, false, logprobs(choice), {}));
  }
  std::string ended(const Answer& answer) {
    std::string out = begin(answer.choice);
    Choice& choice = choices_[answer.choice];
    count(answer);
    ++ended_;
    Json last = json_.with(Json::array({json_.choice(answer.choice, {}, false, logprobs(choice), name(answer.finish_reason))}));
    return out + finish(std::move(last));
  }
  std::string broke(const Failed& failed) {
    ++ended_;
    return finish(error_json(http_error(failed.error())));
  }
  // The last event of a choice; behind the last of all stand usage and timing.
  std::string finish(Json last) {
    if (ended_ < choices_.size()) return sse(with_null_usage(std::move(last)));
    stamp();
    if (!asked_.include_usage) {
      last["timing"] = timing_json(*timing_);
      return sse(last) + "data: [DONE]\n\n";
    }
    Json usage = json_.with(Json::array());
    usage["usage"] = usage_json(usage_);
    usage["timing"] = timing_json(*timing_);
    return sse(with_null_usage(std::move(last))) + sse(usage) + "data: [DONE]\n\n";
  }
  std::string event(Json choice) const { return sse(with_null_usage(json_.with(Json::array({std::move(choice)})))); }
  Json with_null_usage(Json json) const {
    if (asked_.include_usage) json["usage"] = nullptr;
    return json;
  }
  Json logprobs(Choice& choice) const { return asked_.logprobs ? logprobs_json_(std::exchange(choice.logprobs, {}), choice.characters) : Json(); }

  void count(const Answer& answer) {
    if (answer.choice % static_cast<std::uint32_t>(asked_.choices) == 0) {  // the answers to one prompt share it
      usage_.prompt_tokens += answer.usage.prompt_tokens;
      usage_.cached_tokens += answer.usage.cached_tokens;
    }
    usage_.completion_tokens += answer.usage.completion_tokens;
    if (finish_reason_.empty()) finish_reason_ = name(answer.finish_reason);
    if (!decode_ns_) decode_ns_ = answer.timing.decode_per_token_ns;
  }
  void know(const Timing& timing) {
    if (timing_) return;
    timing_ = timing;
    std::erase_if(timing_->stages, [](const StageTime& stage) { return stage.name == "send"; });
  }
  // Ends the stage `send`, once; the total is then the time since the arrival.
  void stamp() {
    if (!timing_) timing_.emplace();
    if (!std::exchange(stamped_, true)) {
      const std::int64_t total = std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - arrival_).count();
      std::int64_t before = 0;
      for (const StageTime& stage : timing_->stages) before += stage.ns;
      timing_->stages.push_back({"send", total - before});
      timing_->ttft_ns = total;
    }
    timing_->decode_per_token_ns = decode_ns_;
  }

  Scheduler& scheduler_;
  Asked asked_;
  LogprobsJson logprobs_json_;
  ReplyJson json_;
  clock::time_point arrival_;
  std::shared_ptr<Mailbox> mail_;
  std::vector<Ticket> tickets_;
  std::vector<Choice> choices_;
  std::deque<Event> events_;
  std::size_t ended_ = 0;
  std::optional<Timing> timing_;
  std::optional<Error> failed_;
  std::optional<double> decode_ns_;
  Usage usage_;
  std::string_view finish_reason_;
  bool begun_ = false;        // something of the stream is written
  bool text_leaves_ = false;  // the first visible text is in what next() gave
  bool stamped_ = false;
};

}  // namespace diecast::serve
