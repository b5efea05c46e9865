// A scheduler over the scripted model.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <company.hpp>
#include <scripted.hpp>

namespace diecast::testing {

const std::vector<std::string> letters{"<eos>", "<end>", "a", "b", "c", "d", "DEF", "G", "HI", "J", "HX", "b\n\nUs", "er:"};
constexpr int eos = 0, end_id = 1, a = 2, b = 3, c = 4, d = 5;
const int vocab = static_cast<int>(letters.size());

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

// Logits that depend on the whole sequence, and never end it before its time.
inline scripted::Rule endless() {
  return [hashed = scripted::hashed(vocab)](std::span<const int> ids) {
    auto logits = hashed(ids);
    logits[eos] = logits[end_id] = -1;
    return logits;
  };
}

inline std::vector<int> prompt_of(int length, int seed) {
  std::vector<int> ids;
  for (int i = 0; i < length; ++i) ids.push_back(2 + (seed * 7 + i * i + 3 * i) % (vocab - 2));
  return ids;
}

}  // namespace diecast::testing
