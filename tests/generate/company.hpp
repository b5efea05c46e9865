// A scheduler over the scripted model, and what its requests were given: every event is recorded and the rules that hold for all of them are checked.
#pragma once

#include <catch2/catch.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <diecast/generate/scheduler.hpp>
#include <diecast/generate/session.hpp>

#include <scripted.hpp>

namespace diecast::testing {

const std::vector<std::string> letters{"<eos>", "<end>", "a", "b", "c", "d", "DEF", "G", "HI", "J", "HX", "b\n\nUs", "er:"};
constexpr int eos = 0, end_id = 1, a = 2, b = 3, c = 4, d = 5;
const int vocab = static_cast<int>(letters.size());

// What came back for one answer.
struct Heard {
  std::string joined;
  std::vector<int> ids;
  int firsts = 0;
  std::optional<Answer> answer;
  std::optional<Trace> trace;
  std::string error;
  bool over() const { return answer || !error.empty(); }
};

// Records events of a request with this many choices; what must hold for every request is checked here.
inline RequestEvents record(std::vector<Heard*> of, std::uint32_t first_choice = 0) {
  const auto heard = [of = std::move(of), first_choice](std::uint32_t choice) -> Heard& { return *of.at(choice - first_choice); };
  return {.first = [=](const Timing&) { ++heard(first_choice).firsts; },
          .piece =
              [=](const Piece& piece) {
                Heard& h = heard(piece.choice);
                CHECK_FALSE(h.over());
                CHECK(piece.index == static_cast<int>(h.ids.size()));
                h.joined += piece.text;
                h.ids.push_back(piece.id);
              },
          .finished =
              [=](Answer&& answer, const Trace& trace) {
                Heard& h = heard(answer.choice);
                CHECK_FALSE(h.over());
                CHECK(answer.text == h.joined);
                CHECK(answer.ids == h.ids);
                CHECK(answer.usage.completion_tokens == static_cast<int>(h.ids.size()));
                h.answer = std::move(answer);
                h.trace = trace;
              },
          .failed =
              [=](const Error& error, std::uint32_t choice) {
                CHECK_FALSE(heard(choice).over());
                heard(choice).error = error.what();
              }};
}

struct Company {
  std::shared_ptr<scripted::Toy> tokenizer = std::make_shared<scripted::Toy>(letters);
  std::shared_ptr<scripted::Model> model;
  Scheduler scheduler;
  std::deque<Heard> heard{};

  explicit Company(scripted::Rule rule, SchedulerOptions options = {.cache_tokens = 1024}, int context = 256)
      : model(std::make_shared<scripted::Model>(vocab, context, std::move(rule))), scheduler(model, tokenizer, {eos, end_id}, options) {}

  Heard& ask(Request request, ScheduledRequest more = {.request = {.prompt = std::vector<int>{}}}) {
    heard.emplace_back();
    more.events = record({&heard.back()}, request.choice);
    more.request = std::move(request);
    ticket = scheduler.submit(std::move(more));
    return heard.back();
  }
  int steps(int most = 100000) {
    int done = 1;
    while (scheduler.step()) {
      ++done;
      REQUIRE(done < most);
    }
    return done;
  }
  Ticket ticket = 0;  // of the last one
};

inline Answer alone(const scripted::Rule& rule, const Request& request, int context = 256) {
  auto tokenizer = std::make_shared<scripted::Toy>(letters);
  auto model = std::make_shared<scripted::Model>(vocab, context, rule);
  return Session(model, tokenizer, {eos, end_id}).generate(request);
}

inline void check_same(const Heard& heard, const Answer& expected) {
  INFO(heard.error);
  REQUIRE(heard.answer);
  CHECK(heard.answer->ids == expected.ids);
  CHECK(heard.answer->text == expected.text);
  CHECK(heard.answer->finish_reason == expected.finish_reason);
  CHECK(heard.answer->prompt_ids == expected.prompt_ids);
  REQUIRE(heard.answer->logprobs.size() == expected.logprobs.size());
  for (std::size_t i = 0; i < expected.logprobs.size(); ++i) {
    CHECK(heard.answer->logprobs[i].id == expected.logprobs[i].id);
    CHECK(heard.answer->logprobs[i].logprob == expected.logprobs[i].logprob);
  }
}

// Logits that depend on the whole sequence, and never end it before its time.
inline scripted::Rule endless() {
  return [hashed = scripted::hashed(vocab)](std::span<const int> ids) {
    auto logits = hashed(ids);
    logits[eos] = logits[end_id] = -1;
    return logits;
  };
}

}  // namespace diecast::testing
