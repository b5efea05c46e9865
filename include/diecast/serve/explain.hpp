// The path to the first token of one prompt, for people: the template's text, the tokens, every span, the whole distribution before it is filtered,
// the token chosen, the cache. It is a request like any other, of one token, so what it shows is what happened.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <diecast/backend/block_table.hpp>
#include <diecast/sample/logprobs.hpp>
#include <diecast/serve/service.hpp>

namespace diecast::serve {

namespace detail {

// The text in pieces: what somebody typed, what the template wrote, and control tokens in it.
inline Json marked_text(const PromptText& prompt, const std::vector<std::string>& controls) {
  Json pieces = Json::array();
  const auto add = [&](std::size_t begin, std::size_t end, const char* kind) {
    if (begin < end) pieces.push_back({{"text", prompt.text.substr(begin, end - begin)}, {"kind", kind}});
  };
  const auto of_template = [&](std::size_t at, std::size_t end) {
    while (at < end) {
      std::size_t next = end, length = 0;
      for (const std::string& control : controls)
        if (const auto found = prompt.text.find(control, at); found < next || (found == next && control.size() > length)) {
          if (found + control.size() > end) continue;
          next = found;
          length = control.size();
        }
      add(at, next, "template");
      add(next, next + length, "control");
      at = next + length;
    }
  };
  std::size_t at = 0;
  for (const Range& range : prompt.typed) {
    of_template(at, range.begin);
    add(range.begin, range.end, "typed");
    at = range.end;
  }
  of_template(at, prompt.text.size());
  return pieces;
}

// The likeliest one by one; all others as counts in steps of a quarter of a nat, so that a page can apply any temperature to the whole. A vocabulary
// is large: nothing but the likeliest is put in order.
inline Json distribution_json(std::span<const float> logits, const Tokenizer& tokenizer) {
  constexpr int shown = 64;
  constexpr double step = 0.25;
  const std::span<const float> known = logits.first((std::min)(logits.size(), static_cast<std::size_t>(tokenizer.size())));
  const std::vector<TokenLogprob> likeliest = token_logprobs(logits, tokenizer.size(), 0, shown).top;
  Json top = Json::array(), rest = Json::array();
  std::set<int> is_shown;
  for (const auto& [id, logprob] : likeliest) {
    top.push_back({{"id", id}, {"text", replace_invalid_utf8(token_bytes(tokenizer, id))}, {"logprob", logprob}});
    is_shown.insert(id);
  }
  struct Bucket {
    double sum = 0;
    std::size_t count = 0;
  };
  std::map<double, Bucket, std::greater<>> buckets;
  const double all = log_sum_exp(logits);
  for (std::size_t id = 0; id < known.size(); ++id) {
    const double logprob = static_cast<double>(known[id]) - all;
    if (!std::isfinite(logprob) || is_shown.contains(static_cast<int>(id))) continue;
    Bucket& bucket = buckets[std::floor(logprob / step)];
    bucket.sum += logprob;
    ++bucket.count;
  }
  for (const auto& [number, bucket] : buckets) rest.push_back({{"logprob", bucket.sum / static_cast<double>(bucket.count)}, {"count", bucket.count}});
  return {{"top", std::move(top)}, {"rest", std::move(rest)}};
}

inline Json spans_json(const Trace& trace) {
  Json spans = Json::array();
  for (const Trace::Span& span : trace.spans()) {
    Json one{{"name", span.name}, {"begin_ns", span.begin}, {"end_ns", span.end}, {"stage", span.stage}};
    if (span.index >= 0) one["index"] = span.index;
    spans.push_back(std::move(one));
  }
  return spans;
}

}  // namespace detail

class Explanation {
 public:
  // The fields of /v1/chat/completions, or of /v1/completions where there are no messages.
  Explanation(Service& service, std::string_view body, Trace::clock::time_point arrival, std::shared_ptr<Mailbox> mail) : service_(service), mail_(std::move(mail)) {
    const Json json = parse_body(body);
    const bool chat = json.contains("messages");
    Trace trace(arrival);
    trace.stage(chat ? "template" : "tokenize");
    Asked asked = read_asked(json, chat, 1);
    asked.stream = false;
    std::vector<ScheduledRequest> requests = service.requests_of(asked, trace, arrival);
    ScheduledRequest& request = requests.front();
    sampling_ = request.request.sampling;
    request.request.max_tokens = 1;
    request.request.logprobs = 0;  // the distribution is made of the logits, on another thread than the one that everybody's answers wait for
    request.events.logits = [kept = logits_](std::span<const float> row) { kept->assign(row.begin(), row.end()); };
    request.inner_spans = true;
    if (auto* text = std::get_if<PromptText>(&request.request.prompt)) prompt_ = *text;
    request.events.finished = [m = mail_](Answer&& answer, const Trace& spans) { m->put(Finished{std::move(answer), spans}); };
    request.events.failed = [m = mail_](const Error& error, std::uint32_t choice) { m->put(Failed(choice, error)); };
    ticket_ = service.scheduler().submit(std::move(request));
  }
  Explanation(const Explanation&) = delete;
  Explanation& operator=(const Explanation&) = delete;
  ~Explanation() {
    if (!over()) service_.scheduler().cancel(ticket_);
  }

  bool over() const { return finished_.has_value(); }
  void take() {
    for (Event& event : mail_->take()) {
      if (const auto* failed = std::get_if<Failed>(&event)) throw failed->error();
      if (auto* finished = std::get_if<Finished>(&event)) finished_.emplace(std::move(*finished));
    }
  }

  // Takes a while: the vocabulary is walked through.
  Json json() const {
    const Answer& answer = finished_->answer;
    const Tokenizer& tokenizer = service_.engine().tokenizer();
    Json tokens = Json::array();
    std::vector<std::string> controls;
    for (const int id : answer.prompt_ids) {
      const bool control = tokenizer.is_control(id);
      if (control) controls.emplace_back(tokenizer.piece(id));
      tokens.push_back({{"id", id}, {"text", replace_invalid_utf8(token_bytes(tokenizer, id))}, {"control", control}});
    }
    const SchedulerStats stats = service_.scheduler().stats();
    Json json{{"model", service_.name()},
              {"system_fingerprint", service_.options().fingerprint},
              {"backend", service_.engine().backend().name()},
              {"text", detail::marked_text(prompt_, controls)},
              {"tokens", std::move(tokens)},
              {"spans", detail::spans_json(finished_->trace)},
              {"timing", timing_json(answer.timing)},
              {"sampling",
               {{"temperature", sampling_.temperature}, {"top_k", sampling_.top_k}, {"top_p", sampling_.top_p}, {"min_p", sampling_.min_p}}},
              {"cache",
               {{"block_tokens", BlockTable::block_tokens},
                {"blocks", stats.blocks},
                {"blocks_free", stats.blocks_free},
                {"blocks_cached", stats.blocks_cached},
                {"context", service_.scheduler().context_tokens()}}},
              {"usage", usage_json(answer.usage)},
              {"finish_reason", name(answer.finish_reason)}};
    if (!answer.logprobs.empty()) {
      const TokenLogprobs& first = answer.logprobs.front();
      json["distribution"] = detail::distribution_json(*logits_, tokenizer);
      json["chosen"] = {{"id", first.id}, {"text", replace_invalid_utf8(token_bytes(tokenizer, first.id))}, {"logprob", first.logprob}, {"ends", tokenizer.is_control(first.id)}};
    }
    return json;
  }

 private:
  Service& service_;
  std::shared_ptr<Mailbox> mail_;
  std::shared_ptr<std::vector<float>> logits_ = std::make_shared<std::vector<float>>();
  PromptText prompt_;
  SamplingOptions sampling_;
  Ticket ticket_ = 0;
  std::optional<Finished> finished_;
};

}  // namespace diecast::serve
