// Many requests on one scheduler: the same answers as alone, whoever joins and leaves; limits, order, cancelling, deadlines, failures.
#include <catch2/catch.hpp>

#include <limits>
#include <stdexcept>
#include <thread>

#include "scripted_company.hpp"

using namespace diecast;
using namespace diecast::testing;

namespace {

Request request_of(int i) {
  return {.prompt = prompt_of(1 + i * 13 % 70, i),
          .sampling = {.temperature = i % 3 == 0 ? 0.0 : 1.0, .seed = static_cast<std::uint64_t>(i)},
          .max_tokens = 1 + i * 7 % 40,
          .stop = i % 4 == 0 ? std::vector<std::string>{"ab"} : std::vector<std::string>{},
          .logprobs = 2};
}

}  // namespace

TEST_CASE("P5: an answer is the same alone and in any company, in steps of any size") {
  for (const auto& options : {SchedulerOptions{.cache_tokens = 4096}, SchedulerOptions{.cache_tokens = 4096, .running = 3, .step_tokens = 5},
                              SchedulerOptions{.cache_tokens = 4096, .running = 1, .step_tokens = 1}, SchedulerOptions{.cache_tokens = 256}}) {
    CAPTURE(options.cache_tokens, options.running, options.step_tokens);
    Company company(scripted::hashed(vocab), options);
    constexpr int count = 24;
    for (int i = 0; i < count; ++i) {
      company.ask(request_of(i));
      if (i % 3 == 0) company.scheduler.step();  // they join while others run
    }
    company.steps();
    for (int i = 0; i < count; ++i) check_same(company.heard[static_cast<std::size_t>(i)], alone(scripted::hashed(vocab), request_of(i)));
    const SchedulerStats stats = company.scheduler.stats();
    CHECK(stats.finished == count);
    CHECK(stats.blocks_free + stats.blocks_cached == stats.blocks);
    CHECK(stats.tokens_in_flight == 0);
    CHECK(stats.waiting + stats.running == 0);
  }
}

TEST_CASE("When the cache is full the youngest goes back to the queue, and its answer is the same") {
  Company company(endless(), {.cache_tokens = 128});  // 8 blocks; each answer needs 7
  constexpr int count = 4;
  const auto request = [](int i) { return Request{.prompt = prompt_of(10, i), .sampling = {.temperature = 1, .seed = 3}, .max_tokens = 100, .logprobs = 1}; };
  for (int i = 0; i < count; ++i) company.ask(request(i));
  company.scheduler.step();
  CHECK(company.scheduler.stats().running == 4);
  while (!company.heard[0].over()) company.scheduler.step();
  CHECK(company.heard[3].ids.size() < 60);  // the oldest goes on in every step
  company.steps();
  for (int i = 0; i < count; ++i) check_same(company.heard[static_cast<std::size_t>(i)], alone(endless(), request(i)));
  CHECK(company.scheduler.stats().preempted >= 3);
  CHECK(company.scheduler.stats().blocks_free + company.scheduler.stats().blocks_cached == 8);
}

TEST_CASE("W1, W2: a cancelled request is gone within two steps, and its neighbours do not notice") {
  Company company(endless());
  Heard& neighbour = company.ask({.prompt = prompt_of(20, 1), .max_tokens = 40});
  Heard& gone = company.ask({.prompt = prompt_of(30, 2), .max_tokens = 200});
  const Ticket ticket = company.ticket;
  for (int i = 0; i < 4; ++i) company.scheduler.step();
  const auto had = gone.ids.size();
  CHECK(had == 4);
  const int used = company.scheduler.stats().blocks - company.scheduler.stats().blocks_free;
  company.scheduler.cancel(ticket);
  company.scheduler.step();
  REQUIRE(gone.answer);
  CHECK(gone.answer->finish_reason == FinishReason::cancelled);
  CHECK(gone.ids.size() == had);
  CHECK(company.scheduler.stats().running == 1);
  CHECK(company.scheduler.stats().blocks - company.scheduler.stats().blocks_free <= used);
  company.scheduler.cancel(ticket);  // too late: nothing happens
  company.scheduler.cancel(12345);
  company.steps();
  check_same(neighbour, alone(endless(), {.prompt = prompt_of(20, 1), .max_tokens = 40}));

  // cancelled by a neighbour's event within a step: no piece follows
  Heard& first = company.ask({.prompt = prompt_of(9, 3), .max_tokens = 3});
  Heard& second = company.ask({.prompt = prompt_of(9, 4), .max_tokens = 3});
  company.model->during_forward = [&] { company.scheduler.cancel(company.ticket); };
  company.steps();
  CHECK(second.ids.empty());
  CHECK(second.answer->finish_reason == FinishReason::cancelled);
  CHECK(first.answer->finish_reason == FinishReason::length);
}

TEST_CASE("W1: a request that is cancelled while it waits never starts") {
  Company company(endless(), {.cache_tokens = 1024, .running = 1, .step_tokens = 64});
  company.ask({.prompt = prompt_of(10, 1), .max_tokens = 10});
  company.scheduler.step();
  Heard& queued = company.ask({.prompt = prompt_of(10, 2), .max_tokens = 10});
  company.scheduler.step();
  company.scheduler.cancel(company.ticket);
  const int rows = company.model->rows_run;
  company.steps();
  CHECK(queued.ids.empty());
  CHECK(queued.answer->finish_reason == FinishReason::cancelled);
  CHECK(company.model->rows_run - rows == 8);  // the first one's
}

TEST_CASE("W1: a request that comes and goes while a step runs never starts") {
  Company company(endless());
  company.ask({.prompt = prompt_of(10, 1), .max_tokens = 3});
  Heard* gone = nullptr;
  company.model->during_forward = [&] {
    if (gone) return;
    gone = &company.ask({.prompt = prompt_of(10, 2), .max_tokens = 10});
    company.scheduler.cancel(company.ticket);
  };
  company.steps();
  REQUIRE(gone);
  CHECK(gone->ids.empty());
  REQUIRE(gone->answer);
  CHECK(gone->answer->finish_reason == FinishReason::cancelled);
  CHECK(company.model->rows_run == 12);
}

TEST_CASE("E1, E2, E4, R7, V1: what ends an answer alone ends it in company") {
  struct Case {
    std::vector<int> says;
    Request request;
    std::string text;
    std::vector<int> ids;
    FinishReason reason;
  };
  const auto asked = [](int max_tokens, std::vector<std::string> stop = {}) {
    return Request{.prompt = std::vector<int>{d}, .max_tokens = max_tokens, .stop = std::move(stop)};
  };
  const std::vector<Case> cases{
      {{a, b, end_id, c}, asked(9), "ab", {a, b, end_id}, FinishReason::stop},
      {{6, 7, 8, 9, eos}, asked(9, {"DEFGHIJ"}), "", {6, 7, 8, 9}, FinishReason::stop},
      {{6, 7, 10, eos}, asked(9, {"DEFGHIJ"}), "DEFGHX", {6, 7, 10, eos}, FinishReason::stop},
      {{a, a, a, b, eos}, asked(9, {"aab"}), "a", {a, a, a, b}, FinishReason::stop},
      {{11, 12, eos}, asked(9, {"\n\nUser:"}), "b", {11, 12}, FinishReason::stop},
      {{a, eos}, asked(1), "a", {a}, FinishReason::length},
      {{a, eos}, asked(2), "a", {a, eos}, FinishReason::stop},
      {{a, eos}, asked(1, {"a"}), "", {a}, FinishReason::stop},
      {{a, eos}, asked(1, {"ab"}), "a", {a}, FinishReason::length},
      {{a}, asked(100), std::string(31, 'a'), std::vector<int>(31, a), FinishReason::length},  // the context has 32
  };
  for (const Case& one : cases) {
    Company company(scripted::says(vocab, 1, one.says), {.cache_tokens = 64}, 32);
    Heard &first = company.ask(one.request), &second = company.ask(one.request);
    company.steps();
    for (const Heard* heard : {&first, &second}) {
      REQUIRE(heard->answer);
      CHECK(heard->answer->text == one.text);
      CHECK(heard->answer->ids == one.ids);
      CHECK(heard->answer->finish_reason == one.reason);
    }
    CHECK(company.model->highest_position <= 30);
  }
}

TEST_CASE("Requests that ask for nothing possible are refused at once, and nothing runs") {
  Company company(endless(), {.cache_tokens = 64}, 1024);
  CHECK(company.scheduler.context_tokens() == 64);
  CHECK_THROWS_WITH(company.ask({.prompt = std::vector<int>{}}), "the prompt has no tokens");
  CHECK_THROWS_WITH(company.ask({.prompt = plain_text("")}), "the prompt has no tokens");
  CHECK_THROWS_WITH(company.ask({.prompt = prompt_of(65, 1)}), "the prompt has 65 tokens, the context holds 64");
  CHECK_THROWS_WITH(company.ask({.prompt = std::vector<int>{vocab}}), "token id 13 is outside the vocabulary of 13");
  CHECK_THROWS_WITH(company.ask({.prompt = std::vector<int>{-1}}), "token id -1 is outside the vocabulary of 13");
  CHECK_THROWS_AS(company.ask({.prompt = std::vector<int>{a}, .max_tokens = 0}), Error);
  CHECK_THROWS_AS(company.ask({.prompt = std::vector<int>{a}, .stop = {""}}), Error);
  CHECK_THROWS_AS(company.ask({.prompt = std::vector<int>{a}, .sampling = {.temperature = -1}}), Error);
  CHECK_THROWS_AS(company.ask({.prompt = std::vector<int>{a}, .logprobs = -1}), Error);
  CHECK_THROWS_AS(company.ask({.prompt = std::vector<int>{a}}, {.request = {}, .choices = 0}), Error);
  CHECK_THROWS_WITH(company.ask({.prompt = std::vector<int>{a}}, {.request = {}, .choices = 1000000000}),
                    "1000000000 choices were asked, 1 to 256 are possible");
  CHECK_FALSE(company.scheduler.step());
  CHECK(company.model->forwards == 0);
  Heard& full = company.ask({.prompt = prompt_of(64, 1)});  // V1: a prompt that fills the context is answered with nothing
  Heard& nearly = company.ask({.prompt = prompt_of(63, 1)});
  company.steps();
  CHECK(full.answer->ids.empty());
  CHECK(full.answer->finish_reason == FinishReason::length);
  CHECK(nearly.answer->ids.size() == 1);
  CHECK(company.scheduler.stats().tokens_in_flight == 0);
}

TEST_CASE("Limits refuse with an error of their own") {
  Company company(endless(), {.cache_tokens = 1024, .running = 1, .step_tokens = 64, .waiting = 2, .tokens_in_flight = 100});
  const auto ask = [&](int max_tokens) -> Heard& { return company.ask({.prompt = prompt_of(10, 1), .max_tokens = max_tokens}); };
  ask(10);
  company.scheduler.step();
  ask(10);
  ask(10);
  try {
    ask(10);
    FAIL("a third one may not wait");
  } catch (const Refused& refused) {
    CHECK(refused.reason() == Refused::Reason::queue_full);
    CHECK(std::string(refused.what()) == "2 requests wait already, and 2 may");
  }
  CHECK(company.scheduler.stats().waiting == 2);
  CHECK(company.scheduler.stats().tokens_in_flight == 60);
  company.steps();
  ask(60);
  try {
    ask(21);
    FAIL("101 tokens are too many");
  } catch (const Refused& refused) {
    CHECK(refused.reason() == Refused::Reason::tokens_in_flight);
    CHECK(std::string(refused.what()) == "31 more tokens were asked for, 70 of 100 are in flight");
  }
  ask(20);
  company.steps();
  Heard& large = ask(200);  // alone it may be larger than the limit: else it could never be answered
  company.scheduler.close();
  CHECK_THROWS_AS(ask(1), Refused);
  company.steps();
  CHECK(large.answer->ids.size() == 200);
  CHECK(company.scheduler.stats().refused == 3);
}

TEST_CASE("First come, first served; running answers go on while a long prompt is read") {
  Company company(endless(), {.cache_tokens = 4096, .running = 8, .step_tokens = 17}, 1024);
  Heard& early = company.ask({.prompt = prompt_of(4, 1), .max_tokens = 50});
  company.scheduler.step();
  Heard& long_one = company.ask({.prompt = prompt_of(300, 2), .max_tokens = 5});
  Heard& late = company.ask({.prompt = prompt_of(4, 3), .max_tokens = 5});
  for (int i = 0; i < 18; ++i) company.scheduler.step();
  CHECK(early.ids.size() == 19);  // a token in each step
  CHECK(long_one.ids.empty());
  CHECK(late.ids.empty());
  CHECK(company.scheduler.stats().rows == 17);
  company.scheduler.step();  // the last 12, and 4 are left
  CHECK(long_one.ids.size() == 1);
  CHECK(late.ids.size() == 1);
  company.steps();
}

TEST_CASE("A flood of short requests does not starve a long one") {
  Company company(endless(), {.cache_tokens = 512, .running = 4, .step_tokens = 16, .waiting = 1000});
  for (int i = 0; i < 20; ++i) company.ask({.prompt = prompt_of(8, i), .max_tokens = 20});
  Heard& large = company.ask({.prompt = prompt_of(200, 99), .max_tokens = 50});
  int steps = 0;
  while (!large.over()) {
    company.ask({.prompt = prompt_of(8, steps), .max_tokens = 20});
    company.scheduler.step();
    REQUIRE(++steps < 400);
  }
  check_same(large, alone(endless(), {.prompt = prompt_of(200, 99), .max_tokens = 50}));
}

TEST_CASE("A deadline ends an answer with what it has; one that is over never starts") {
  Company company(endless());
  const auto now = Trace::clock::now();
  const auto until = [](Trace::clock::time_point time) { return ScheduledRequest{.request = {}, .deadline = time}; };
  Heard& over = company.ask({.prompt = prompt_of(5, 1), .max_tokens = 100}, until(now));
  Heard& some = company.ask({.prompt = prompt_of(5, 2), .max_tokens = 200}, until(now + std::chrono::milliseconds(200)));
  Heard& all = company.ask({.prompt = prompt_of(5, 3), .max_tokens = 3}, until(now + std::chrono::hours(1)));
  company.scheduler.step();
  CHECK(over.ids.empty());
  REQUIRE(over.answer);
  CHECK(over.answer->finish_reason == FinishReason::deadline);
  CHECK(name(FinishReason::deadline) == "deadline");
  std::this_thread::sleep_until(now + std::chrono::milliseconds(210));
  company.steps();
  CHECK(some.ids.size() <= 1);  // none on a machine so slow that the first step came too late
  CHECK(some.answer->finish_reason == FinishReason::deadline);
  CHECK(all.answer->finish_reason == FinishReason::length);
  CHECK(company.scheduler.stats().late == 2);
  CHECK(company.scheduler.stats().blocks_free + company.scheduler.stats().blocks_cached == company.scheduler.stats().blocks);
}

TEST_CASE("S8: one request's broken logits fail it alone") {
  const std::vector<int> cursed = prompt_of(12, 5);
  Company company([cursed, healthy = endless()](std::span<const int> ids) {
    auto logits = healthy(ids);
    if (ids.size() == 14 && std::equal(cursed.begin(), cursed.end(), ids.begin())) logits[4] = std::numeric_limits<float>::quiet_NaN();
    return logits;
  });
  Heard& broken = company.ask({.prompt = cursed, .max_tokens = 10});
  Heard& whole = company.ask({.prompt = prompt_of(12, 6), .max_tokens = 10});
  company.steps();
  CHECK(broken.error == "the logits of step 2 hold NaN at id 4: the weights in the model file are damaged");
  CHECK(broken.ids.size() == 2);
  check_same(whole, alone(endless(), {.prompt = prompt_of(12, 6), .max_tokens = 10}));
  CHECK(company.scheduler.stats().failed == 1);
}

TEST_CASE("A backend that throws, before or after its work, ends only the requests whose fault it is") {
  for (const bool appended : {false, true}) {
    Company company(endless());
    Heard& first = company.ask({.prompt = prompt_of(40, 1), .max_tokens = 30});
    Heard& second = company.ask({.prompt = prompt_of(20, 2), .max_tokens = 30});
    int calls = 0;
    // the fourth pass throws, and the second of those that are tried alone after it
    (appended ? company.model->during_forward : company.model->before_forward) = [&] {
      if (++calls == 4 || calls == 6) throw std::bad_alloc();
    };
    company.steps();
    check_same(first, alone(endless(), {.prompt = prompt_of(40, 1), .max_tokens = 30}));
    CHECK(second.error == "std::bad_alloc");
    CHECK(second.ids.size() == 3);
    CHECK(company.scheduler.stats().blocks_free + company.scheduler.stats().blocks_cached == company.scheduler.stats().blocks);
  }
}

TEST_CASE("An event that throws fails its own request") {
  Company company(endless());
  int failures = 0, pieces = 0;
  company.scheduler.submit({.request = {.prompt = prompt_of(6, 1), .max_tokens = 9},
                            .events = {.piece = [&](const Piece&) { if (++pieces == 2) throw std::runtime_error("the client is gone"); },
                                       .failed = [&](const Error& error, std::uint32_t) { failures += std::string(error.what()) == "the client is gone"; }}});
  company.scheduler.submit({.request = {.prompt = prompt_of(6, 1), .max_tokens = 9}, .events = {.finished = [](Answer&&, const Trace&) { throw 1; }}});
  Heard& other = company.ask({.prompt = prompt_of(6, 2), .max_tokens = 9});
  company.steps();
  CHECK(failures == 1);
  CHECK(pieces == 2);
  CHECK(other.answer->ids.size() == 9);
}

TEST_CASE("Drafts change no answer, however many run and however small the cache is") {
  // Text that repeats itself, with a surprise now and then.
  const scripted::Rule repeats = [](std::span<const int> ids) {
    auto logits = scripted::one_hot(vocab, 2 + static_cast<int>(ids.size()) % 5);
    if (ids.size() % 23 == 0) logits[static_cast<std::size_t>(2 + ids.size() / 23 % 9)] = 20;
    return logits;
  };
  const auto request = [](int i) {
    return Request{.prompt = prompt_of(3 + i * 13 % 40, i), .sampling = {.temperature = i % 2 == 0 ? 0.0 : 1.0, .seed = 5}, .max_tokens = 20 + i * 17 % 90, .stop = i % 3 == 0 ? std::vector<std::string>{"GHIab"} : std::vector<std::string>{}, .logprobs = 1};
  };
  for (const auto& options : {SchedulerOptions{.cache_tokens = 2048, .draft = 8}, SchedulerOptions{.cache_tokens = 160, .draft = 8}, SchedulerOptions{.cache_tokens = 2048, .running = 3, .step_tokens = 5, .draft = 3},
                              SchedulerOptions{.cache_tokens = 512, .draft = 100, .prefix_cache = false}})
    for (const int count : {1, 3, 12}) {
      CAPTURE(options.cache_tokens, options.draft, count);
      Company company(repeats, options, 160);
      int tokens = 0;
      for (int round = 0; round < 2; ++round) {
        const std::size_t before = company.heard.size();
        for (int i = 0; i < count; ++i) company.ask(request(i));
        company.steps();
        for (int i = 0; i < count; ++i) {
          const Heard& heard = company.heard[before + static_cast<std::size_t>(i)];
          check_same(heard, alone(repeats, request(i), 160));
          tokens += static_cast<int>(heard.ids.size());
        }
      }
      const SchedulerStats stats = company.scheduler.stats();
      CHECK(stats.blocks_free + stats.blocks_cached == stats.blocks);
      if (count == 1 && options.step_tokens > 5) CHECK(3 * static_cast<int>(stats.steps) < 2 * tokens);  // several tokens out of one pass
    }
  CHECK_THROWS_WITH(Company(repeats, {.draft = -1}), "drafts of -1 tokens are impossible");

  Company company(repeats, {.cache_tokens = 1024, .draft = 8});  // cancelled by its own piece: no other one follows, wrong guesses or right ones
  std::vector<int> ids;
  Ticket ticket = 0;
  ticket = company.scheduler.submit({.request = {.prompt = prompt_of(3, 1), .max_tokens = 200}, .events = {.piece = [&](const Piece& piece) {
                                       ids.push_back(piece.id);
                                       if (ids.size() == 60) company.scheduler.cancel(ticket);
                                     }}});
  company.steps();
  CHECK(ids.size() == 60);
  CHECK(company.scheduler.stats().cancelled == 1);
  CHECK(company.scheduler.stats().blocks_free + company.scheduler.stats().blocks_cached == company.scheduler.stats().blocks);
}

TEST_CASE("Whoever asks sees the logits that each token was chosen from") {
  Company company(endless());
  std::vector<std::vector<float>> seen;
  std::vector<int> ids = prompt_of(12, 1);
  Answer answer;
  company.scheduler.submit({.request = {.prompt = ids, .max_tokens = 4, .logprobs = 0},
                            .events = {.finished = [&](Answer&& one, const Trace&) { answer = std::move(one); },
                                       .logits = [&](std::span<const float> row) { seen.emplace_back(row.begin(), row.end()); }}});
  company.ask({.prompt = prompt_of(20, 2), .max_tokens = 4});
  company.steps();
  REQUIRE(seen.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(seen[i] == endless()(ids));
    ids.push_back(answer.ids[i]);
  }
}

TEST_CASE("Stages of a scheduled request touch and add up") {
  Company company(endless());
  Trace trace;
  trace.stage("template");
  Heard& heard = company.ask({.prompt = plain_text("dabc"), .max_tokens = 4}, {.request = {}, .trace = trace, .inner_spans = true});
  company.steps();
  REQUIRE(heard.trace);
  std::vector<std::string> names;
  std::int64_t instant = 0;
  int inner = 0;
  for (const Trace::Span& span : heard.trace->spans()) {
    if (!span.stage) ++inner;
    if (!span.stage) continue;
    CHECK(span.begin == instant);
    instant = span.end;
    names.push_back(span.name);
  }
  CHECK(names == std::vector<std::string>{"template", "tokenize", "queue", "prefill", "sample", "send", "decode", "decode", "decode"});
  CHECK(inner > 0);
  CHECK(heard.firsts == 1);
  std::int64_t sum = 0;
  for (const StageTime& stage : heard.answer->timing.stages) sum += stage.ns;
  CHECK(sum == heard.answer->timing.ttft_ns);
  CHECK(heard.answer->timing.stages.size() == 6);
}

TEST_CASE("A scheduler with impossible limits is refused") {
  const auto make = [](SchedulerOptions options) { Company company(endless(), options); };
  CHECK_THROWS_WITH(make({.cache_tokens = 1024, .context = 257}), "a context of 257 tokens was asked, model and cache hold 1 to 256");
  CHECK_THROWS_AS(make({.cache_tokens = 1024, .context = 0}), Error);
  CHECK_THROWS_AS(make({.cache_tokens = 0}), Error);
  CHECK_THROWS_AS(make({.running = 0}), Error);
  CHECK_THROWS_AS(make({.running = 8, .step_tokens = 7}), Error);
  CHECK_THROWS_AS(make({.waiting = 0}), Error);
}

TEST_CASE("The loop sleeps when there is nothing to do, answers what comes, and ends when closed or stopped") {
  Company company(endless());
  {
    std::jthread loop([&](std::stop_token stop) { company.scheduler.run(stop); });
    Heard& heard = company.ask({.prompt = prompt_of(10, 1), .max_tokens = 20});
    company.scheduler.close();
    loop.join();
    check_same(heard, alone(endless(), {.prompt = prompt_of(10, 1), .max_tokens = 20}));
  }
  Company other(endless());
  std::stop_source source;
  Heard& heard = other.ask({.prompt = prompt_of(10, 1), .max_tokens = 200});
  other.model->before_forward = [&] {
    if (other.model->forwards == 5) source.request_stop();
  };
  std::jthread loop([&] { other.scheduler.run(source.get_token()); });
  loop.join();
  REQUIRE(heard.answer);
  CHECK(heard.answer->finish_reason == FinishReason::cancelled);
  CHECK(heard.ids.size() == 6);
  CHECK(other.scheduler.stats().running == 0);
}
