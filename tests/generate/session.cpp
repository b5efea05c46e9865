// Whole answers of a scripted model: stopping, limits, finish reasons, the cache between turns, cancelling, failures.
#include <catch2/catch.hpp>

#include <stdexcept>

#include <diecast/generate/session.hpp>

#include <scripted.hpp>

using namespace diecast;

namespace {

const std::vector<std::string> letters{"<eos>", "<end>", "a", "b", "c", "d", "DEF", "G", "HI", "J", "HX", "b\n\nUs", "er:"};
constexpr int eos = 0, end = 1, a = 2, b = 3, c = 4, d = 5;

struct Bench {
  std::shared_ptr<scripted::Model> model;
  std::shared_ptr<scripted::Toy> tokenizer;
  Session session;
};

Bench bench(scripted::Rule rule, int context = 64, SessionOptions options = {}, std::vector<std::string> pieces = letters) {
  auto tokenizer = std::make_shared<scripted::Toy>(std::move(pieces));
  auto model = std::make_shared<scripted::Model>(tokenizer->size(), context, std::move(rule));
  return {model, tokenizer, Session(model, tokenizer, {eos, end}, options)};
}
const int vocab = static_cast<int>(letters.size());

// Streamed and not streamed give the same answer, and the pieces join to its text.
Answer both_ways(Bench& made, const Request& request) {
  const Answer whole = made.session.generate(request);
  std::string joined;
  std::vector<int> ids;
  const Answer streamed = made.session.generate(request, [&](const Piece& piece) {
    CHECK(piece.index == static_cast<int>(ids.size()));
    joined += piece.text;
    ids.push_back(piece.id);
  });
  CHECK(joined == whole.text);
  CHECK(streamed.text == whole.text);
  CHECK(ids == whole.ids);
  CHECK(streamed.ids == whole.ids);
  CHECK(streamed.finish_reason == whole.finish_reason);
  CHECK(whole.usage.completion_tokens == static_cast<int>(whole.ids.size()));
  return whole;
}

}  // namespace

TEST_CASE("E1: every end-of-sequence id ends an answer; it is among the ids and not in the text") {
  Bench made = bench(scripted::says(vocab, 1, {a, b, end, c}));
  const Answer answer = both_ways(made, {.prompt = std::vector<int>{d}});
  CHECK(answer.text == "ab");
  CHECK(answer.ids == std::vector<int>{a, b, end});
  CHECK(answer.finish_reason == FinishReason::stop);
  CHECK(answer.usage.completion_tokens == 3);
  CHECK(answer.usage.prompt_tokens == 1);

  made.tokenizer->eos = b;  // the tokenizer's own joins those of the other sources
  Session session(made.model, made.tokenizer, {end});
  CHECK(session.generate({.prompt = std::vector<int>{d}}).ids == std::vector<int>{a, b});
}

TEST_CASE("E2: stop strings over token borders") {
  const auto answer = [](std::vector<int> ids, std::string stop) {
    ids.push_back(eos);
    Bench made = bench(scripted::says(vocab, 1, std::move(ids)));
    return both_ways(made, {.prompt = std::vector<int>{d}, .stop = {std::move(stop)}});
  };
  CHECK(answer({6, 7, 8, 9}, "DEFGHIJ").text.empty());
  CHECK(answer({6, 7, 8, 9}, "DEFGHIJ").ids == std::vector<int>{6, 7, 8, 9});
  CHECK(answer({6, 7, 10}, "DEFGHIJ").text == "DEFGHX");  // released at the end
  CHECK(answer({a, a, a, b}, "aab").text == "a");
  CHECK(answer({11, 12}, "\n\nUser:").text == "b");
}

TEST_CASE("E4: finish reasons") {
  Bench made = bench(scripted::says(vocab, 1, {a, eos}));
  const auto reason = [&](int max_tokens, std::vector<std::string> stop = {}) {
    return both_ways(made, {.prompt = std::vector<int>{d}, .max_tokens = max_tokens, .stop = std::move(stop)}).finish_reason;
  };
  CHECK(reason(1) == FinishReason::length);
  CHECK(reason(2) == FinishReason::stop);
  CHECK(reason(3) == FinishReason::stop);
  CHECK(reason(1, {"a"}) == FinishReason::stop);  // completed by the last allowed token
  CHECK(reason(1, {"ab"}) == FinishReason::length);  // begun, not completed: what was held back is released
  CHECK(both_ways(made, {.prompt = std::vector<int>{d}, .max_tokens = 1, .stop = {"ab"}}).text == "a");
  CHECK(name(FinishReason::stop) == "stop");
  CHECK(name(FinishReason::length) == "length");
}

TEST_CASE("V1: prompt and completion fit the context, a longer prompt is refused") {
  Bench made = bench(scripted::says(vocab, 0, {a}), 64, {.context = 8});
  const auto answer = [&](std::size_t prompt) { return both_ways(made, {.prompt = std::vector<int>(prompt, d), .max_tokens = 100}); };
  CHECK(answer(5).ids.size() == 3);
  CHECK(answer(5).finish_reason == FinishReason::length);
  CHECK(answer(7).ids.size() == 1);
  CHECK(answer(8).ids.empty());
  CHECK(answer(8).finish_reason == FinishReason::length);
  CHECK_THROWS_WITH(answer(9), "the prompt has 9 tokens, the context holds 8");
  CHECK(answer(5).ids.size() == 3);  // and the session goes on
  CHECK(made.model->highest_position <= 7);
}

TEST_CASE("R7: a table of 8 positions is never read past its end") {
  Bench made = bench(scripted::says(vocab, 0, {a}), 8);
  const Answer answer = both_ways(made, {.prompt = std::vector<int>{d, d}, .max_tokens = 100});
  CHECK(answer.ids.size() == 6);
  CHECK(answer.finish_reason == FinishReason::length);
  CHECK(made.model->highest_position == 6);  // the eighth token is sampled, and needs no row of its own
}

TEST_CASE("A context that the model cannot hold is refused") {
  CHECK_THROWS_WITH(bench(scripted::says(vocab, 0, {a}), 8, {.context = 9}), "a context of 9 tokens was asked, this model holds 1 to 8");
  CHECK_THROWS_AS(bench(scripted::says(vocab, 0, {a}), 8, {.context = 0}), Error);
  CHECK_THROWS_AS(bench(scripted::says(vocab, 0, {a}), 8, {.chunk = 0}), Error);
}

TEST_CASE("Requests that ask for nothing possible are refused before anything runs") {
  Bench made = bench(scripted::says(vocab, 0, {a}));
  CHECK_THROWS_WITH(made.session.generate({.prompt = std::vector<int>{}}), "the prompt has no tokens");
  CHECK_THROWS_WITH(made.session.generate({.prompt = plain_text("")}), "the prompt has no tokens");
  CHECK_THROWS_AS(made.session.generate({.prompt = std::vector<int>{d}, .max_tokens = 0}), Error);
  CHECK_THROWS_AS(made.session.generate({.prompt = std::vector<int>{d}, .stop = {""}}), Error);
  CHECK_THROWS_AS(made.session.generate({.prompt = std::vector<int>{d}, .sampling = {.temperature = -1}}), Error);
  CHECK_THROWS_AS(made.session.generate({.prompt = std::vector<int>{d}, .logprobs = -1}), Error);
  CHECK_THROWS_AS(made.session.generate({.prompt = std::vector<int>{vocab}}), Error);
  CHECK(made.model->forwards == 0);
  CHECK(made.session.generate({.prompt = std::vector<int>{d}, .max_tokens = 2}).text == "aa");
}

TEST_CASE("W3: an empty prompt with BOS is one token; text gets exactly one BOS") {
  Bench made = bench(scripted::says(vocab, 0, {a}));
  made.tokenizer->bos = end;
  made.tokenizer->add_bos = true;
  CHECK(made.session.generate({.prompt = plain_text(""), .max_tokens = 1}).prompt_ids == std::vector<int>{end});
  CHECK(made.session.generate({.prompt = plain_text("ab"), .max_tokens = 1}).prompt_ids == std::vector<int>{end, a, b});
  CHECK(made.session.generate({.prompt = PromptText{"<end>ab", {}}, .max_tokens = 1}).prompt_ids == std::vector<int>{end, a, b});
  CHECK(made.session.generate({.prompt = std::vector<int>{a, b}, .max_tokens = 1}).prompt_ids == std::vector<int>{a, b});
}

TEST_CASE("Any chunk size gives the same answer") {
  const std::vector<int> prompt{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 2, 3, 4, 5, 6, 7, 8, 9};
  const Request request{.prompt = prompt, .sampling = {.temperature = 1, .seed = 5}, .max_tokens = 20};
  const Answer expected = bench(scripted::hashed(vocab)).session.generate(request);
  for (const int chunk : {1, 2, 3, 7, 18, 19, 20}) {
    Bench made = bench(scripted::hashed(vocab), 64, {.chunk = chunk});
    CHECK(made.session.generate(request).ids == expected.ids);
    CHECK(made.model->forwards == (19 + chunk - 1) / chunk + static_cast<int>(expected.ids.size()) - 1);
  }
}

TEST_CASE("Drafts change no answer, whatever the text") {
  // A text that goes round in a circle, one that never does, and drawn ones; limits, and a second turn on the same session.
  const scripted::Rule circle = [](std::span<const int> ids) { return scripted::one_hot(vocab, ids.size() % 3 == 0 ? a : ids.size() % 3 == 1 ? b : c); };
  for (const auto& [rule, temperature] : {std::pair<scripted::Rule, double>{circle, 0.0}, {scripted::hashed(vocab), 0.0}, {scripted::hashed(vocab), 1.0}}) {
    for (const int draft : {1, 2, 7}) {
      for (const int most : {1, 2, 9, 40}) {
        Bench plain = bench(rule), drafting = bench(rule, 64, {.draft = draft});
        for (int turn = 0; turn < 2; ++turn) {
          const Request request{.prompt = std::vector<int>{a, b, c, a, b, c, a, d}, .sampling = {.temperature = temperature, .seed = 5}, .max_tokens = most, .logprobs = 2};
          const Answer one = plain.session.generate(request), other = drafting.session.generate(request);
          CAPTURE(draft, most, turn);
          CHECK(one.ids == other.ids);
          CHECK(one.text == other.text);
          CHECK(one.finish_reason == other.finish_reason);
          CHECK(one.usage.cached_tokens == other.usage.cached_tokens);
          CHECK(plain.session.cached_ids() == drafting.session.cached_ids());
          REQUIRE(one.logprobs.size() == other.logprobs.size());
          for (std::size_t i = 0; i < one.logprobs.size(); ++i) CHECK(one.logprobs[i].logprob == other.logprobs[i].logprob);
        }
      }
    }
  }
  Bench plain = bench(circle), drafting = bench(circle, 64, {.draft = 7});
  const Request round{.prompt = std::vector<int>{a, b, c, a}, .max_tokens = 40};
  CHECK(plain.session.generate(round).ids == drafting.session.generate(round).ids);
  CHECK(plain.model->forwards == 40);
  CHECK(drafting.model->forwards < 12);  // drafts of the circle's length and more are taken whole
}

TEST_CASE("A draft is what followed the same tokens before") {
  CHECK(draft_from(std::vector<int>{1, 2, 3, 4, 5, 1, 2, 3}, 2) == std::vector<int>{4, 5});
  CHECK(draft_from(std::vector<int>{1, 2, 3, 4, 5, 1, 2, 3}, 9) == std::vector<int>{4, 5, 1, 2, 3, 4, 5, 1, 2});  // and round again
  CHECK(draft_from(std::vector<int>{1, 2, 7, 1, 2, 8, 1, 2}, 1) == std::vector<int>{8});  // the latest one
  CHECK(draft_from(std::vector<int>{9, 2, 3, 4, 7, 2, 3}, 1) == std::vector<int>{4});     // two tokens where three are nowhere
  CHECK(draft_from(std::vector<int>{5, 5, 5, 5}, 3) == std::vector<int>{5, 5, 5});        // it may overlap itself
  CHECK(draft_from(std::vector<int>{1, 2, 3, 4}, 3).empty());
  CHECK(draft_from(std::vector<int>{1, 2, 1, 2}, 0).empty());
  CHECK(draft_from(std::vector<int>{1, 1}, 3).empty());
  CHECK(draft_from(std::vector<int>{}, 3).empty());
}

TEST_CASE("A draft follows the longest match, and none that is shorter than was asked for") {
  const std::vector<int> history{7, 1, 2, 3, 4, 9, 2, 3, 5, 8, 1, 2, 3};  // 1 2 3 stands before 4, the later 2 3 before 5
  CHECK(draft_from(history, 1) == std::vector<int>{4});
  CHECK(draft_from(history, 1, 3) == std::vector<int>{4});
  CHECK(draft_from(history, 1, 4).empty());
}

TEST_CASE("A drafter that was right reaches further, one that was wrong asks for more") {
  std::vector<int> history(40);
  for (std::size_t i = 0; i < history.size(); ++i) history[i] = static_cast<int>(i % 20);  // a match of sixteen and more
  Drafter drafter;
  CHECK(drafter.draft(history, 100).size() == 4);
  drafter.judge(4, 4);
  CHECK(drafter.draft(history, 100).size() == 8);
  CHECK(drafter.draft(history, 5).size() == 5);
  drafter.judge(8, 3);
  CHECK(drafter.draft(history, 100).size() == 3);
  drafter.judge(3, 0);
  CHECK(drafter.draft(history, 100).size() == 1);

  const std::vector<int> three{1, 2, 3, 9, 1, 2, 3}, two{8, 2, 3, 9, 1, 2, 3};
  Drafter fresh;
  CHECK(fresh.draft(three, 1) == std::vector<int>{9});
  CHECK(fresh.draft(two, 1).empty());
  fresh.judge(1, 1);
  CHECK(fresh.draft(two, 1) == std::vector<int>{9});
  fresh.judge(1, 0);
  fresh.judge(1, 0);
  CHECK(fresh.draft(three, 1).empty());
  for (int i = 0; i < 100; ++i) fresh.judge(1, 0);
  CHECK(fresh.draft(history, 1).size() == 1);  // it never gives up for good
}

TEST_CASE("Drafts of an impossible length are refused") { CHECK_THROWS_WITH(bench(scripted::hashed(vocab), 64, {.draft = -1}), Catch::Contains("-1")); }

TEST_CASE("V4, V5: a turn reuses what it has in common with the last one, and the answer does not change") {
  Bench made = bench(scripted::hashed(vocab), 256);
  const auto ask = [&](std::vector<int> prompt) {
    const Request request{.prompt = prompt, .sampling = {.temperature = 1, .seed = 9}, .max_tokens = 6, .logprobs = 3};
    const int before = made.model->rows_run;
    const Answer warm = made.session.generate(request);
    CHECK(made.model->rows_run - before == static_cast<int>(prompt.size()) - warm.usage.cached_tokens + warm.usage.completion_tokens - 1);
    const Answer cold = bench(scripted::hashed(vocab), 256).session.generate(request);
    CHECK(warm.ids == cold.ids);
    REQUIRE(warm.logprobs.size() == cold.logprobs.size());
    for (std::size_t i = 0; i < warm.logprobs.size(); ++i) CHECK(warm.logprobs[i].logprob == cold.logprobs[i].logprob);
    CHECK(cold.usage.cached_tokens == 0);
    return warm;
  };
  std::vector<int> prompt(32, b);
  CHECK(ask(prompt).usage.cached_tokens == 0);
  CHECK(ask(prompt).usage.cached_tokens == 31);  // exactly two blocks again: one position is computed
  prompt[20] = c;
  CHECK(ask(prompt).usage.cached_tokens == 20);
  CHECK(ask({d}).usage.cached_tokens == 0);  // n = 1
  CHECK(ask({d}).usage.cached_tokens == 0);

  const Answer first = ask({a, b, c});
  std::vector<int> next = first.prompt_ids;  // a conversation: the last turn, its answer, something new
  next.insert(next.end(), first.ids.begin(), first.ids.end());
  next.push_back(d);
  CHECK(ask(next).usage.cached_tokens == static_cast<int>(3 + first.ids.size() - 1));
  made.session.reset();
  CHECK(made.session.cached_ids().empty());
  CHECK(ask(next).usage.cached_tokens == 0);
}

TEST_CASE("S6: seeds repeat, whatever else the session did") {
  Bench made = bench(scripted::hashed(vocab));
  const auto ask = [&](std::optional<std::uint64_t> seed, std::uint32_t choice = 0) {
    return made.session.generate({.prompt = std::vector<int>{a}, .sampling = {.temperature = 1, .seed = seed}, .max_tokens = 30, .choice = choice}).ids;
  };
  const auto expected = ask(42);
  ask({});
  CHECK(ask(42) == expected);
  CHECK(ask(43) != expected);
  CHECK(ask(42, 1) != expected);
}

TEST_CASE("Cancelling ends an answer between two tokens and leaves the session usable") {
  Bench made = bench(scripted::says(vocab, 1, {a, b, c}), 1024, {.chunk = 4});
  std::stop_source source;
  int seen = 0;
  const Answer answer = made.session.generate(
      {.prompt = std::vector<int>{d}, .max_tokens = 500},
      [&](const Piece&) {
        if (++seen == 3) source.request_stop();
      },
      source.get_token());
  CHECK(answer.ids == std::vector<int>{a, b, c});
  CHECK(answer.text == "abc");
  CHECK(answer.finish_reason == FinishReason::cancelled);
  CHECK(made.model->forwards == 3);

  const Answer none = made.session.generate({.prompt = std::vector<int>{d}}, {}, source.get_token());  // cancelled before it begins
  CHECK(none.ids.empty());
  CHECK(none.finish_reason == FinishReason::cancelled);
  CHECK(made.model->forwards == 3);

  std::stop_source during;  // in the second of three chunks of prefill
  int chunks = 0;
  made.model->before_forward = [&] {
    if (++chunks == 2) during.request_stop();
  };
  CHECK(made.session.generate({.prompt = std::vector<int>(12, b)}, {}, during.get_token()).ids.empty());
  CHECK(chunks == 2);
  made.model->before_forward = {};
  CHECK(made.session.generate({.prompt = std::vector<int>{d}, .max_tokens = 3}).text == "abc");

  std::stop_source last;  // a request to stop that comes with the last token changes nothing
  const Answer complete = made.session.generate({.prompt = std::vector<int>{d}, .max_tokens = 1}, [&](const Piece&) { last.request_stop(); }, last.get_token());
  CHECK(complete.finish_reason == FinishReason::length);
}

TEST_CASE("A session goes on after an exception from the callback, the backend or the sampler") {
  const auto endless = [hashed = scripted::hashed(vocab)](std::span<const int> ids) {
    auto logits = hashed(ids);
    logits[eos] = logits[end] = -1;
    return logits;
  };
  Bench made = bench(endless, 256);
  const Request request{.prompt = std::vector<int>{a, b, c, d, a, b}, .max_tokens = 8};
  const Answer expected = made.session.generate(request);
  made.session.reset();

  int seen = 0;
  CHECK_THROWS_AS(made.session.generate(request, [&](const Piece&) {
    if (++seen == 3) throw std::runtime_error("the client is gone");
  }), std::runtime_error);
  CHECK(made.session.generate(request).ids == expected.ids);

  for (const int after : {1, 2, 5})
    for (const bool appended : {false, true}) {
      made.session.reset();
      int calls = 0;
      const auto fail = [&] {
        if (++calls == after) throw std::bad_alloc();
      };
      (appended ? made.model->during_forward : made.model->before_forward) = fail;
      CHECK_THROWS_AS(made.session.generate(request), std::bad_alloc);
      made.model->before_forward = made.model->during_forward = {};
      CHECK(made.session.generate(request).ids == expected.ids);
    }

  const scripted::Rule healthy = made.model->rule;
  made.model->rule = [&](std::span<const int> ids) {
    auto logits = healthy(ids);
    if (ids.size() == 8) logits[4] = std::numeric_limits<float>::quiet_NaN();
    return logits;
  };
  made.session.reset();
  CHECK_THROWS_WITH(made.session.generate(request), "the logits of step 2 hold NaN at id 4: the weights in the model file are damaged");
  made.model->rule = healthy;
  CHECK(made.session.generate(request).ids == expected.ids);
}

TEST_CASE("K7: a character spread over tokens is never shown in halves") {
  const std::vector<std::string> pieces{"<eos>", "<end>", "\xF0", "\x9F", "\x98", "\x80", "A"};
  const auto deltas = [&](std::vector<int> ids) {
    std::vector<std::string> texts;
    Bench made = bench(scripted::says(static_cast<int>(pieces.size()), 1, std::move(ids)), 64, {}, pieces);
    const Answer answer = made.session.generate({.prompt = std::vector<int>{6}, .max_tokens = 4}, [&](const Piece& piece) { texts.emplace_back(piece.text); });
    std::string joined;
    for (const std::string& text : texts) joined += text;
    CHECK(joined == answer.text);
    return texts;
  };
  CHECK(deltas({2, 3, 4, 5}) == std::vector<std::string>{"", "", "", "\xF0\x9F\x98\x80"});
  CHECK(deltas({2, 3, 0}) == std::vector<std::string>{"", "", "\xEF\xBF\xBD"});
  CHECK(deltas({6, 2, 3, 6, 2})[0] == "A");
}

TEST_CASE("W7: log-probabilities of every token, with and without streaming") {
  // ln [4,3,2,1] of 10: values by Python's math.log
  const std::vector<float> row{1.3862944F, 1.0986123F, 0.6931472F, 0.0F};
  const std::vector<std::string> pieces{"w", "x", "y", "z"};
  auto tokenizer = std::make_shared<scripted::Toy>(pieces);
  auto model = std::make_shared<scripted::Model>(4, 64, scripted::rows(1, {row}));
  Session session(model, tokenizer, {});
  int seen = 0;
  const Answer answer = session.generate({.prompt = std::vector<int>{0}, .sampling = {.temperature = 0.5, .top_p = 0.4, .seed = 1}, .max_tokens = 5, .logprobs = 3},
                                         [&](const Piece& piece) {
                                           REQUIRE(piece.logprobs);
                                           CHECK(piece.logprobs->id == piece.id);
                                           ++seen;
                                         });
  REQUIRE(answer.logprobs.size() == 5);
  CHECK(seen == 5);
  for (const TokenLogprobs& token : answer.logprobs) {
    CHECK(token.id == 0);
    CHECK(token.logprob == Approx(-0.916291).margin(1e-6));
    REQUIRE(token.top.size() == 3);
    CHECK(token.top[1].logprob == Approx(-1.203973).margin(1e-6));
    CHECK(token.top[2].logprob == Approx(-1.609438).margin(1e-6));
  }
  CHECK(session.generate({.prompt = std::vector<int>{0}, .max_tokens = 2}).logprobs.empty());
}

TEST_CASE("Logits beyond the tokenizer's ids are never sampled") {
  auto tokenizer = std::make_shared<scripted::Toy>(std::vector<std::string>{"x", "y"});
  auto model = std::make_shared<scripted::Model>(4, 64, scripted::rows(1, {{1, 2, 9, 9}}));
  Session session(model, tokenizer, {});
  CHECK(session.generate({.prompt = std::vector<int>{0}, .max_tokens = 3}).text == "yyy");
}

TEST_CASE("Stages touch and add up to the time to the first token") {
  Bench made = bench(scripted::says(vocab, 1, {6, 7, a, b, eos}));
  Trace trace;
  trace.stage("template");
  std::int64_t first_visible = -1;
  const Answer answer = made.session.generate(
      {.prompt = plain_text("d"), .stop = {"DEFX"}}, [&](const Piece& piece) {
        if (first_visible < 0 && !piece.text.empty()) first_visible = trace.now();
      }, {}, &trace);
  CHECK(answer.text == "DEFGab");
  std::vector<std::string> names;
  std::int64_t instant = 0;
  for (const Trace::Span& span : trace.spans())
    if (span.stage) {
      CHECK(span.begin == instant);
      instant = span.end;
      names.push_back(span.name);
    }
  // the first token is held back, for it may begin the stop string: `send` lasts until the second
  CHECK(names == std::vector<std::string>{"template", "tokenize", "prefill", "sample", "send", "decode", "decode", "decode"});
  std::int64_t sum = 0;
  for (const StageTime& stage : answer.timing.stages) sum += stage.ns;
  CHECK(sum == answer.timing.ttft_ns);
  CHECK(answer.timing.stages.size() == 5);
  CHECK(answer.timing.ttft_ns >= first_visible);
  REQUIRE(answer.timing.decode_per_token_ns);
  CHECK(*answer.timing.decode_per_token_ns > 0);

  const Answer whole = made.session.generate({.prompt = std::vector<int>{d}});  // not streamed: up to the finish
  REQUIRE(whole.timing.stages.size() == 3);
  CHECK(whole.timing.stages.back().name == "send");
}
