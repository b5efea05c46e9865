// What the server does, without HTTP: an engine, its scheduler, and the JSON of each endpoint. Everything here may be called from any thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <diecast/generate/engine.hpp>
#include <diecast/serve/asked.hpp>
#include <diecast/serve/completion.hpp>
#include <diecast/serve/options.hpp>
#include <diecast/serve/server.hpp>

namespace diecast::serve {

class Service {
 public:
  Service(std::shared_ptr<const Engine> engine, Render render, ServerOptions options)
      : engine_(std::move(engine)), render_(std::move(render)), options_(std::move(options)), name_(options_.name.empty() ? engine_->model().name : options_.name),
        scheduler_(new Scheduler(engine_->scheduler(options_.scheduler))) {}

  Scheduler& scheduler() const { return *scheduler_; }
  const ServerOptions& options() const { return options_; }
  const Engine& engine() const { return *engine_; }
  const std::string& name() const { return name_; }

  // A request for completions, submitted. `arrival`: when the whole request was here; then the stage `template` began.
  std::unique_ptr<Completion> complete(std::string_view body, bool chat, const std::string& id, Trace::clock::time_point arrival, std::shared_ptr<Mailbox> mail) {
    Trace trace(arrival);
    trace.stage(chat ? "template" : "tokenize");  // the reading of the JSON, too
    Asked asked = read_asked(parse_body(body), chat, options_.choices);
    std::vector<ScheduledRequest> requests = requests_of(asked, trace, arrival);
    check_size(asked, requests);
    ReplyJson json(chat, asked.stream, id, name_, options_.fingerprint);
    auto completion = std::make_unique<Completion>(*scheduler_, engine_->tokenizer(), std::move(asked), std::move(json), arrival, std::move(mail));
    completion->submit(std::move(requests));
    return completion;
  }

  Json models() const { return {{"object", "list"}, {"data", Json::array({model(name_)})}}; }
  Json model(std::string_view name) const {
    if (name != name_) throw HttpError(404, "there is no model '" + shortened(name) + "' here, there is " + name_, "model");
    return {{"id", name_}, {"object", "model"}, {"created", 0}, {"owned_by", "diecast"}, {"context", scheduler_->context_tokens()}, {"chat", engine_->has_template()}, {"system_fingerprint", options_.fingerprint}};
  }

  // {"content": TEXT, "add_special": false} or {"messages": [...]}
  Json tokenize(std::string_view body) const {
    const Json json = parse_body(body);
    Fields request(json);
    request.ignore("model");
    const Tokenizer& tokenizer = engine_->tokenizer();
    std::vector<int> ids;
    if (request.find("messages")) {
      ids = tokenizer.encode(rendered(detail::messages_of(request)));
      put_bos(tokenizer, ids);
    } else {
      request.need("content");
      ids = tokenizer.encode(*request.text("content"));
      if (request.flag("add_special").value_or(false)) {
        put_bos(tokenizer, ids);
        if (tokenizer.add_eos && tokenizer.eos) ids.push_back(*tokenizer.eos);
      }
    }
    request.finish();
    Json pieces = Json::array();
    for (const int id : ids) pieces.push_back(tokenizer.piece(id));
    return {{"tokens", ids}, {"pieces", std::move(pieces)}, {"count", ids.size()}};
  }
  // {"tokens": [...]}
  Json detokenize(std::string_view body) const {
    const Json json = parse_body(body);
    Fields request(json);
    request.ignore("model");
    const Json& tokens = request.need("tokens");
    if (!tokens.is_array()) request.wrong("tokens", "a list of token ids", tokens);
    const std::vector<int> ids = detail::ids_of(tokens, "tokens");
    request.finish();
    for (const int id : ids)
      if (id >= engine_->tokenizer().size())
        throw HttpError(400, "token id " + std::to_string(id) + " in 'tokens' is outside the vocabulary of " + std::to_string(engine_->tokenizer().size()), "tokens");
    return {{"content", decode(engine_->tokenizer(), ids)}};
  }

  // What the template makes of messages; a refusal of the template itself is the request's fault.
  PromptText rendered(const std::vector<Message>& messages) const {
    if (!engine_->has_template()) throw HttpError(400, name_ + " has no chat template: it is a base model, which continues text (/v1/completions)", "messages");
    return render_(*engine_, messages);
  }

  // Of one request for each prompt: all but its events. The text is theirs afterwards.
  std::vector<ScheduledRequest> requests_of(Asked& asked, const Trace& trace, Trace::clock::time_point arrival) const {
    const GenerationDefaults& defaults = engine_->model().generation;
    Request request{.prompt = std::vector<int>{},
                    .sampling = resolve(asked.sampling, defaults),
                    .max_tokens = resolve_max_tokens(asked.max_tokens, defaults),
                    .stop = std::move(asked.stop),
                    .logprobs = asked.logprobs};
    std::vector<ScheduledRequest> requests;
    const auto add = [&](std::variant<PromptText, std::vector<int>> prompt) {
      requests.push_back({.request = request, .choices = asked.choices, .trace = trace});
      requests.back().request.prompt = std::move(prompt);
      if (options_.answer_time.count() > 0) requests.back().deadline = arrival + options_.answer_time;
    };
    if (asked.chat) add(rendered(std::exchange(asked.messages, {})));
    for (PlainPrompt& prompt : asked.prompts) {
      if (auto* text = std::get_if<std::string>(&prompt)) add(plain_text(std::move(*text)));
      else add(std::move(std::get<std::vector<int>>(prompt)));
    }
    asked.prompts.clear();
    return requests;
  }

 private:
  void check_size(const Asked& asked, const std::vector<ScheduledRequest>& requests) const {
    if (!asked.logprobs) return;
    const std::int64_t tokens = (std::min)(requests.front().request.max_tokens, scheduler_->context_tokens());
    const std::int64_t values = static_cast<std::int64_t>(requests.size()) * asked.choices * tokens * (1 + *asked.logprobs);
    if (values > options_.logprobs)
      throw HttpError(400, std::to_string(values) + " log-probabilities were asked for (answers, tokens of each, 1 + " + std::to_string(*asked.logprobs) + "), " + std::to_string(options_.logprobs) + " are the most", "logprobs");
  }

  std::shared_ptr<const Engine> engine_;
  Render render_;
  ServerOptions options_;
  std::string name_;
  std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace diecast::serve
