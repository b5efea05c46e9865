// A scheduler at its edges: what is evicted, who is sent back, what is counted then. Each test is here because the code could be broken in a small way
// and no other test saw it.
#include <catch2/catch.hpp>

#include <stop_token>

#include "scripted_company.hpp"

using namespace diecast;
using namespace diecast::testing;

namespace {

// Sequences over a prefix cache by hand.
struct Tree {
  explicit Tree(int blocks) : table(16 * blocks), cache(table) {}
  // Computes these ids and leaves; returns what was known of them.
  int compute(const std::vector<int>& ids) {
    const int sequence = table.add();
    auto place = cache.join(sequence, "", ids);
    const int known = table.length(sequence);
    while (table.length(sequence) < static_cast<int>(ids.size())) table.append(sequence);
    cache.extend(place, sequence, ids);
    table.remove(sequence);
    return known;
  }
  // Whether these ids are known. To ask is to use them.
  bool knows(std::vector<int> ids) {
    ids.push_back(a);
    const int sequence = table.add();
    const auto place = cache.join(sequence, "", ids);
    table.remove(sequence);
    return place.blocks * BlockTable::block_tokens + 1 == static_cast<int>(ids.size());
  }
  BlockTable table;
  PrefixCache cache;
};

std::vector<int> together(std::vector<int> first, const std::vector<int>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}
bool whole(const SchedulerStats& stats) { return stats.blocks_free + stats.blocks_cached == stats.blocks; }

}  // namespace

TEST_CASE("A block is known by each of its tokens") {
  for (std::size_t at = 0; at < 32; ++at) {
    CAPTURE(at);
    Tree tree(8);
    auto ids = prompt_of(33, 1);
    CHECK(tree.compute(ids) == 0);
    CHECK(tree.compute(ids) == 32);
    ids[at] = ids[at] == a ? b : a;
    CHECK(tree.compute(ids) == (at < 16 ? 0 : 16));
  }
}

TEST_CASE("What a sequence holds is not evicted, though it was used longest ago") {
  Tree tree(4);
  const auto held = prompt_of(16, 1), idle = prompt_of(16, 2);
  tree.compute(held);
  const int sequence = tree.table.add();
  const auto place = tree.cache.join(sequence, "", together(held, {a}));
  CHECK(place.blocks == 1);
  tree.compute(idle);
  CHECK(tree.cache.evict());
  CHECK_FALSE(tree.cache.evict());
  CHECK(tree.cache.blocks() == 1);
  CHECK(tree.table.holders(tree.table.blocks_of(sequence)[0]) == 2);
  CHECK(tree.knows(held));
  tree.table.remove(sequence);
}

TEST_CASE("A sequence that has gone on since it was last known takes nothing over: it would stand behind what the sequence has") {
  Tree tree(8);
  const auto ids = prompt_of(40, 1);
  tree.compute(ids);
  const int sequence = tree.table.add();
  PrefixCache::Place place;
  for (int i = 0; i < 16; ++i) tree.table.append(sequence);  // its first block, which the tree was not told
  tree.cache.advance(place, sequence, ids);
  CHECK(tree.table.length(sequence) == 16);
  tree.cache.extend(place, sequence, ids);
  tree.cache.advance(place, sequence, ids);
  CHECK(tree.table.length(sequence) == 32);
  tree.table.remove(sequence);
}

TEST_CASE("To use a beginning is to use all that it stands on; to find it is to use it") {
  const auto root = prompt_of(16, 1), leaf = prompt_of(16, 2), other = prompt_of(16, 3), third = prompt_of(16, 4);
  {
    Tree tree(8);
    tree.compute(root);
    tree.compute(other);
    tree.compute(together(root, leaf));  // new: the leaf. Used: both
    CHECK(tree.cache.evict());
    CHECK_FALSE(tree.knows(other));
    CHECK(tree.knows(together(root, leaf)));
  }
  {
    Tree tree(8);
    tree.compute(together(root, leaf));
    tree.compute(other);
    tree.compute(together(together(root, leaf), {a}));  // nothing new: found
    CHECK(tree.cache.evict());
    CHECK_FALSE(tree.knows(other));
    CHECK(tree.knows(together(root, leaf)));
  }
  {
    Tree tree(8);
    tree.compute(together(root, leaf));
    tree.compute(other);
    tree.compute(together(root, third));  // the root is used, the leaf is not
    CHECK(tree.cache.evict());
    CHECK_FALSE(tree.knows(together(root, leaf)));
    CHECK(tree.cache.evict());
    CHECK_FALSE(tree.knows(other));
    CHECK(tree.knows(together(root, third)));
  }
}

TEST_CASE("What is computed again counts once, and is no hit") {
  Company company(endless(), {.cache_tokens = 128});  // 8 blocks
  for (int i = 0; i < 3; ++i) company.ask({.prompt = prompt_of(20, i), .max_tokens = 100});
  company.steps();
  const SchedulerStats stats = company.scheduler.stats();
  CHECK(stats.preempted > 0);
  CHECK(stats.prompt_tokens == 60);
  CHECK(stats.cached_tokens == 0);
  CHECK(stats.completion_tokens == 300);
  for (const Heard& heard : company.heard) CHECK(heard.answer->usage.cached_tokens == 0);
}

TEST_CASE("A prompt that is sent back in the middle counts once, and is no hit when it is read again") {
  Company company(endless(), {.cache_tokens = 128, .running = 2, .step_tokens = 3});
  Heard& old = company.ask({.prompt = prompt_of(60, 1), .max_tokens = 60});
  while (old.ids.empty()) company.scheduler.step();
  Heard& young = company.ask({.prompt = prompt_of(45, 2), .max_tokens = 5});
  while (company.scheduler.stats().preempted == 0) REQUIRE(company.scheduler.step());
  CHECK(young.ids.empty());
  company.steps();
  CHECK(company.scheduler.stats().prompt_tokens == 60 + 45);
  CHECK(company.scheduler.stats().cached_tokens == 0);
  CHECK(young.answer->usage.cached_tokens == 0);
  check_same(young, alone(endless(), {.prompt = prompt_of(45, 2), .max_tokens = 5}));
}

TEST_CASE("Two alike that were sent back help each other to read again, and that is no hit") {
  Company company(endless(), {.cache_tokens = 128, .running = 3, .step_tokens = 20});  // 8 blocks
  const Request same{.prompt = prompt_of(14, 2), .max_tokens = 80};  // no whole block, so the first time there is nothing to find
  company.ask({.prompt = prompt_of(3, 1), .max_tokens = 120});       // needs all of them in the end
  Heard &first = company.ask(same), &second = company.ask(same);
  int rows = 0;
  while (!company.heard[0].over()) {
    REQUIRE(company.scheduler.step());
    rows = company.model->rows_run;
  }
  CHECK(company.scheduler.stats().preempted == 2);
  CHECK(company.scheduler.stats().running == 0);
  const auto computed = first.ids.size() + second.ids.size() + 2 * 14;
  company.steps();
  CHECK(company.model->rows_run - rows < static_cast<int>(first.ids.size() + second.ids.size() + 2 * 14));  // one read for both
  CHECK(computed > 100);
  CHECK(company.scheduler.stats().cached_tokens == 0);
  for (const Heard* heard : {&first, &second}) {
    CHECK(heard->answer->usage.cached_tokens == 0);
    check_same(*heard, alone(endless(), same));
  }
}

TEST_CASE("Nobody joins who would throw others out at once") {
  Company company(endless(), {.cache_tokens = 96});  // 6 blocks
  for (int i = 0; i < 2; ++i) company.ask({.prompt = prompt_of(30, i), .max_tokens = 20});  // 2 blocks each now, 4 in the end
  company.scheduler.step();
  CHECK(company.scheduler.stats().running == 2);
  company.ask({.prompt = prompt_of(30, 2), .max_tokens = 20});  // there are 2 blocks, but those that run will want them
  company.scheduler.step();
  CHECK(company.scheduler.stats().running == 2);
  CHECK(company.scheduler.stats().waiting == 1);
  CHECK(company.scheduler.stats().preempted == 0);
  company.steps();
  for (int i = 0; i < 3; ++i) check_same(company.heard[static_cast<std::size_t>(i)], alone(endless(), {.prompt = prompt_of(30, i), .max_tokens = 20}));
}

TEST_CASE("Each choice says what was cached, and no more run than may") {
  Company company(endless(), {.cache_tokens = 1024, .running = 2, .step_tokens = 64});
  company.ask({.prompt = prompt_of(40, 1), .max_tokens = 1});
  company.steps();
  std::vector<Heard> heard(5);
  std::vector<Heard*> all;
  for (Heard& one : heard) all.push_back(&one);
  company.scheduler.submit({.request = {.prompt = prompt_of(40, 1), .max_tokens = 6}, .events = record(all), .choices = 5});
  do CHECK(company.scheduler.stats().running <= 2);
  while (company.scheduler.step());
  for (std::size_t i = 0; i < 2; ++i) CHECK(heard[i].answer->usage.cached_tokens == 32);  // those that were forked; the others found the prompt again
}

TEST_CASE("Choices whose prompt is tried alone fork no more than there is room for") {
  for (const int blocks : {4, 5, 6, 7, 8}) {
    CAPTURE(blocks);
    Company company(endless(), {.cache_tokens = 16 * blocks});
    Heard& neighbour = company.ask({.prompt = prompt_of(14, 9), .max_tokens = 30});
    company.scheduler.step();
    std::vector<Heard> heard(4);
    std::vector<Heard*> all;
    for (Heard& one : heard) all.push_back(&one);
    company.scheduler.submit({.request = {.prompt = prompt_of(20, 1), .max_tokens = 10}, .events = record(all), .choices = 4});
    Heard& younger = company.ask({.prompt = prompt_of(20, 5), .max_tokens = 10});  // in the same step, where there is room
    int calls = 0;
    company.model->before_forward = [&] {
      if (++calls == 1) throw Error("once", Blame::program);  // the pass that reads the prompt; then each of its parts runs
    };
    company.steps();
    check_same(neighbour, alone(endless(), {.prompt = prompt_of(14, 9), .max_tokens = 30}));
    check_same(younger, alone(endless(), {.prompt = prompt_of(20, 5), .max_tokens = 10}));
    for (std::uint32_t i = 0; i < 4; ++i) check_same(heard[i], alone(endless(), {.prompt = prompt_of(20, 1), .max_tokens = 10, .choice = i}));
    CHECK(whole(company.scheduler.stats()));
  }
}

TEST_CASE("A prompt with choices that is sent back in the middle is read again") {
  Company company(endless(), {.cache_tokens = 128, .running = 3, .step_tokens = 3});
  Heard& old = company.ask({.prompt = prompt_of(60, 1), .max_tokens = 60});
  while (old.ids.empty()) company.scheduler.step();
  std::vector<Heard> heard(3);
  std::vector<Heard*> all;
  for (Heard& one : heard) all.push_back(&one);
  company.scheduler.submit({.request = {.prompt = prompt_of(45, 2), .max_tokens = 5}, .events = record(all), .choices = 3});
  int most_steps = 0;
  while (company.scheduler.step()) REQUIRE(++most_steps < 1000);
  check_same(old, alone(endless(), {.prompt = prompt_of(60, 1), .max_tokens = 60}));
  for (std::uint32_t i = 0; i < 3; ++i) check_same(heard[i], alone(endless(), {.prompt = prompt_of(45, 2), .max_tokens = 5, .choice = i}));
  CHECK(whole(company.scheduler.stats()));
}

TEST_CASE("A request's choices all come before the next request's first") {
  Company company(endless(), {.cache_tokens = 1024, .running = 1, .step_tokens = 64});
  std::vector<Heard> heard(3);
  std::vector<Heard*> all;
  for (Heard& one : heard) all.push_back(&one);
  company.scheduler.submit({.request = {.prompt = prompt_of(20, 1), .max_tokens = 5}, .events = record(all), .choices = 3});
  Heard& next = company.ask({.prompt = prompt_of(10, 2), .max_tokens = 5});
  while (!next.over() && company.scheduler.step()) {
    if (next.ids.empty()) continue;
    for (const Heard& one : heard) CHECK(one.over());
  }
  company.steps();
}

TEST_CASE("The youngest that goes back is of the last request, not the last choice of an older one") {
  Company company(endless(), {.cache_tokens = 192});  // 12 blocks; each answer needs 4
  std::vector<Heard> heard(3);
  std::vector<Heard*> all;
  for (Heard& one : heard) all.push_back(&one);
  Request choices{.prompt = prompt_of(20, 1), .sampling = {.temperature = 1, .top_k = 8, .seed = 3}, .max_tokens = 40};
  company.scheduler.submit({.request = std::move(choices), .events = record(all), .choices = 3});
  Heard& last = company.ask({.prompt = prompt_of(10, 2), .max_tokens = 50});
  while (company.scheduler.stats().preempted == 0) REQUIRE(company.scheduler.step());
  CHECK(company.scheduler.stats().preempted == 1);
  const auto had = last.ids.size();
  CHECK(had < 50);
  for (const Heard& one : heard) CHECK(one.ids.size() == heard[0].ids.size());
  company.scheduler.step();
  CHECK(last.ids.size() == had);
  company.steps();
}

TEST_CASE("A choice that was sent back goes on before the next one of its request begins") {
  Company company(endless(), {.cache_tokens = 128, .running = 2});  // 8 blocks; each answer needs 7
  std::vector<Heard> heard(4);
  std::vector<Heard*> all;
  for (Heard& one : heard) all.push_back(&one);
  const auto request = [](std::uint32_t i) {
    return Request{.prompt = prompt_of(10, 1), .sampling = {.temperature = 1, .top_k = 8, .seed = 3}, .max_tokens = 100, .choice = i};
  };
  company.scheduler.submit({.request = request(0), .events = record(all), .choices = 4});
  while (company.scheduler.stats().preempted == 0) REQUIRE(company.scheduler.step());
  const auto had = heard[1].ids.size();
  CHECK(had > 30);
  while (heard[2].ids.empty()) REQUIRE(company.scheduler.step());
  CHECK(heard[1].ids.size() > had);
  company.steps();
  for (std::uint32_t i = 0; i < 4; ++i) check_same(heard[i], alone(endless(), request(i)));
}

TEST_CASE("Who asks for log-probabilities gets all logits, though the best of them suffice for his neighbours") {
  Company company(endless());
  company.model->gives_best = true;
  const auto request = [](int i) {
    return Request{.prompt = prompt_of(10, i),
                   .sampling = {.temperature = i == 3 ? 1.0 : 0.0, .top_k = i == 3 ? 3 : 0, .seed = 1},
                   .max_tokens = 20,
                   .logprobs = i == 2 ? std::optional(2) : std::nullopt};
  };
  for (int i = 1; i < 4; ++i) {  // one alone, then with each of the others
    company.ask(request(i));
    company.scheduler.step();
  }
  company.steps();
  for (int i = 1; i < 4; ++i) check_same(company.heard[static_cast<std::size_t>(i - 1)], alone(endless(), request(i)));
}

TEST_CASE("A loop that is stopped ends those that wait, too") {
  Company company(endless(), {.cache_tokens = 1024, .running = 1, .step_tokens = 64});
  Heard &runs = company.ask({.prompt = prompt_of(10, 1), .max_tokens = 200}), &waits = company.ask({.prompt = prompt_of(10, 2), .max_tokens = 200});
  std::stop_source source;
  company.model->before_forward = [&] {
    if (company.model->forwards == 5) source.request_stop();
  };
  company.scheduler.run(source.get_token());
  for (const Heard* heard : {&runs, &waits}) {
    REQUIRE(heard->answer);
    CHECK(heard->answer->finish_reason == FinishReason::cancelled);
  }
  CHECK(waits.ids.empty());
  CHECK(whole(company.scheduler.stats()));
  CHECK(company.scheduler.stats().tokens_in_flight == 0);
}
