// Many requests on one scheduler: every event is recorded, and the rules that hold for all requests are checked. check_company puts a backend
// through the promise that answers are the same alone and in any company.
#pragma once

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <diecast/generate/scheduler.hpp>
#include <diecast/generate/session.hpp>

namespace diecast::testing {

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

// Answers of this backend alone, and then together: joined while others run, in small steps, with a warm cache, with one so small that beginnings are
// evicted and sequences computed again, as choices of one request, and beside a neighbour that is cancelled.
inline void check_company(const std::shared_ptr<const Backend>& backend, const std::shared_ptr<const Tokenizer>& tokenizer) {
  const int context = (std::min)(backend->spec().context, 80);
  const auto request_of = [&](int i) {
    std::vector<int> prompt;
    for (int at = 0; at < 1 + (i * 11 + 3) % (context - 12); ++at) prompt.push_back((at < 20 ? at * 7 + i % 2 : at * 5 + i) % tokenizer->size());
    return Request{.prompt = std::move(prompt),
                   .sampling = {.temperature = i % 3 == 0 ? 0.0 : 1.5, .top_k = i % 3 == 1 ? 5 : 0, .seed = static_cast<std::uint64_t>(i)},
                   .max_tokens = 9 + i,
                   .logprobs = i % 2 == 0 ? std::optional<int>(2) : std::nullopt,  // without them a backend may give the best logits only
                   .choice = i == 3 ? 2U : 0U};
  };
  constexpr int count = 8;
  std::vector<Answer> expected;
  for (int i = 0; i < count; ++i) expected.push_back(Session(backend, tokenizer, {}, {.context = context}).generate(request_of(i)));

  for (const SchedulerOptions& options : {SchedulerOptions{.cache_tokens = 16 * context}, SchedulerOptions{.cache_tokens = 16 * context, .running = 3, .step_tokens = 3},
                                          SchedulerOptions{.cache_tokens = 2 * context}, SchedulerOptions{.cache_tokens = context, .step_tokens = 40, .prefix_cache = false}}) {
    CAPTURE(options.cache_tokens, options.running, options.step_tokens);
    SchedulerOptions with_context = options;
    with_context.context = context;
    Scheduler scheduler(backend, tokenizer, {}, with_context);
    for (int round = 0; round < 2; ++round) {
      std::vector<Heard> heard(count), forks(3);
      Heard gone;
      const Ticket cancelled = scheduler.submit({.request = request_of(1), .events = record({&gone})});
      for (int i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        if (i == 3) scheduler.submit({.request = [&] { auto r = request_of(3); r.choice = 0; return r; }(), .events = record({&forks[0], &forks[1], &heard[at]}), .choices = 3});
        else scheduler.submit({.request = request_of(i), .events = record({&heard[at]})});
        if (i % 2 == 0) scheduler.step();
        if (i == 4) scheduler.cancel(cancelled);
      }
      while (scheduler.step()) {
      }
      for (std::size_t i = 0; i < count; ++i) {
        CAPTURE(round, i);
        check_same(heard[i], expected[i]);
      }
      CHECK(gone.over());
      const SchedulerStats stats = scheduler.stats();
      CHECK(stats.blocks_free + stats.blocks_cached == stats.blocks);
      if (round == 1) CHECK((stats.cached_tokens > 0) == options.prefix_cache);
    }
  }

  // Two that begin small and grow: the younger one goes back to the queue in mid-answer.
  Scheduler scheduler(backend, tokenizer, {}, {.cache_tokens = context, .context = context, .prefix_cache = false});
  const auto growing = [&](int i) {
    return Request{.prompt = std::vector<int>{i + 1, 3}, .sampling = {.temperature = 1, .top_k = 20, .seed = 4}, .max_tokens = context - 4};
  };
  std::vector<Heard> heard(2);
  for (int i = 0; i < 2; ++i) scheduler.submit({.request = growing(i), .events = record({&heard[static_cast<std::size_t>(i)]})});
  while (scheduler.step()) {
  }
  for (int i = 0; i < 2; ++i) check_same(heard[static_cast<std::size_t>(i)], Session(backend, tokenizer, {}, {.context = context}).generate(growing(i)));
  CHECK(scheduler.stats().preempted > 0);
  CHECK(scheduler.stats().blocks_free == scheduler.stats().blocks);
}

}  // namespace diecast::testing
