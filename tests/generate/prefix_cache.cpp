// What is shared between requests: beginnings that are known, and the prompt of several choices. The answers are those without.
#include <catch2/catch.hpp>

#include <unistd.h>

#include <filesystem>

#include "scripted_company.hpp"

using namespace diecast;
using namespace diecast::testing;

namespace {

Request request_of(std::vector<int> prompt, int max_tokens = 6) {
  return {.prompt = std::move(prompt), .sampling = {.temperature = 1, .seed = 9}, .max_tokens = max_tokens, .logprobs = 3};
}
ScheduledRequest with_salt(std::string salt) { return {.request = {}, .salt = std::move(salt)}; }
ScheduledRequest nothing_more() { return {}; }

}  // namespace

TEST_CASE("V2, V4, V5: a warm cache changes no answer, and at least the last token is computed") {
  Company company(endless());
  const auto ask = [&](std::vector<int> prompt) {
    const int before = company.model->rows_run;
    Heard& heard = company.ask(request_of(prompt));
    company.steps();
    check_same(heard, alone(endless(), request_of(prompt)));
    const int cached = heard.answer->usage.cached_tokens;
    CHECK(company.model->rows_run - before == static_cast<int>(prompt.size()) - cached + 5);
    CHECK(cached < static_cast<int>(prompt.size()));
    return cached;
  };
  CHECK(ask(prompt_of(32, 1)) == 0);
  CHECK(ask(prompt_of(32, 1)) == 16);  // exactly two blocks again
  CHECK(ask(prompt_of(33, 1)) == 32);
  CHECK(ask(prompt_of(31, 1)) == 16);
  CHECK(ask(prompt_of(50, 2)) == 0);  // unrelated traffic in between
  CHECK(ask(prompt_of(32, 1)) == 16);
  CHECK(ask({d}) == 0);
  CHECK(ask({d}) == 0);
  auto other = prompt_of(33, 1);
  other[15] = other[15] == a ? b : a;  // V2: another token in the first block, all else equal
  CHECK(ask(other) == 0);
  other = prompt_of(33, 1);
  other[31] = other[31] == a ? b : a;
  CHECK(ask(other) == 16);

  // A conversation: the last prompt, its answer, something new.
  Heard& first = company.ask(request_of(prompt_of(40, 5), 30));
  company.steps();
  std::vector<int> next = first.answer->prompt_ids;
  next.insert(next.end(), first.ids.begin(), first.ids.end());
  CHECK(ask(next) == 64);
  const SchedulerStats stats = company.scheduler.stats();
  CHECK(stats.blocks_free + stats.blocks_cached == stats.blocks);
  CHECK(stats.blocks_cached > 0);
  CHECK(stats.cached_tokens == 16 + 32 + 16 + 16 + 16 + 64);
}

TEST_CASE("Without a prefix cache nothing is kept") {
  Company company(endless(), {.cache_tokens = 512, .prefix_cache = false});
  for (int i = 0; i < 2; ++i) {
    Heard& heard = company.ask(request_of(prompt_of(40, 1)));
    company.steps();
    check_same(heard, alone(endless(), request_of(prompt_of(40, 1))));
    CHECK(heard.answer->usage.cached_tokens == 0);
  }
  CHECK(company.scheduler.stats().blocks_free == 32);
}

TEST_CASE("Requests of another salt share nothing") {
  Company company(endless());
  const auto ask = [&](std::string salt) {
    Heard& heard = company.ask(request_of(prompt_of(40, 1)), with_salt(std::move(salt)));
    company.steps();
    check_same(heard, alone(endless(), request_of(prompt_of(40, 1))));
    return heard.answer->usage.cached_tokens;
  };
  CHECK(ask("") == 0);
  CHECK(ask("one") == 0);
  CHECK(ask("two") == 0);
  CHECK(ask("one") == 32);
  CHECK(ask("") == 32);
}

TEST_CASE("What was used longest ago goes first, leaves before what they stand on") {
  BlockTable table(16 * 6);
  PrefixCache cache(table);
  const auto compute = [&](const std::vector<int>& ids) {  // returns what was known of them
    const int sequence = table.add();
    auto place = cache.join(sequence, "", ids);
    const int known = table.length(sequence);
    while (table.length(sequence) < static_cast<int>(ids.size())) {
      if (table.blocks_needed(sequence, 1) > table.free_blocks()) REQUIRE(cache.evict());
      table.append(sequence);
    }
    cache.extend(place, sequence, ids);
    table.remove(sequence);
    return known;
  };
  auto long_one = prompt_of(48, 1), fork = long_one;
  fork[40] = fork[40] == a ? b : a;
  CHECK(compute(long_one) == 0);
  CHECK(compute(fork) == 32);  // 4 blocks: two shared, two leaves
  CHECK(cache.blocks() == 4);
  CHECK(compute(prompt_of(32, 2)) == 0);  // the cache is full
  CHECK(table.free_blocks() == 0);
  CHECK(table.idle_blocks() == 6);
  CHECK(compute(prompt_of(16, 3)) == 0);  // the oldest leaf goes: the end of the long one
  CHECK(cache.blocks() == 6);
  fork.push_back(a), long_one.push_back(a);
  CHECK(compute(fork) == 48);      // its block is used while the 49th token looks for room: it takes one of the others
  CHECK(compute(long_one) == 32);
  while (cache.evict()) {
  }
  CHECK(cache.blocks() == 0);
  CHECK(table.free_blocks() == 6);
  CHECK_FALSE(cache.evict());

  const int sequence = table.add();  // what a sequence holds stays
  for (int i = 0; i < 20; ++i) table.append(sequence);
  PrefixCache::Place place;
  cache.extend(place, sequence, prompt_of(20, 1));
  CHECK(cache.blocks() == 1);
  CHECK_FALSE(cache.evict());
  table.remove(sequence);
  CHECK(cache.evict());
}

TEST_CASE("A saved sequence is a known beginning, for its salt and its engine alone") {
  const std::string path = (std::filesystem::temp_directory_path() / ("diecast-warm-" + std::to_string(::getpid()))).string();
  Company company(endless());
  Session session(company.model, company.tokenizer, {eos, end_id});
  session.generate({.prompt = prompt_of(40, 1), .max_tokens = 3});
  session.save(path, "engine one");
  CHECK_THROWS_WITH(company.scheduler.warm(path, "engine two"), Catch::Contains("engine two"));
  CHECK_THROWS_WITH(Company(endless(), {.cache_tokens = 32}).scheduler.warm(path, "engine one"), Catch::Contains("the context holds 32"));
  CHECK_THROWS_WITH(Company(endless(), {.cache_tokens = 1024, .prefix_cache = false}).scheduler.warm(path, "engine one"), "a scheduler without a prefix cache keeps no beginnings");
  CHECK(company.scheduler.warm(path, "engine one", "guests") == 42);
  std::filesystem::remove(path);
  const auto ask = [&](const std::string& salt) {
    Heard& heard = company.ask(request_of(prompt_of(50, 1)), with_salt(salt));
    company.steps();
    check_same(heard, alone(endless(), request_of(prompt_of(50, 1))));
    return heard.answer->usage.cached_tokens;
  };
  CHECK(ask("") == 0);
  CHECK(ask("guests") == 32);
  const SchedulerStats stats = company.scheduler.stats();
  CHECK(stats.blocks_free + stats.blocks_cached == stats.blocks);
}

TEST_CASE("Two that compute the same at the same time hold it once afterwards") {
  Company company(endless());
  Heard& first = company.ask(request_of(prompt_of(40, 1), 30));
  Heard& second = company.ask(request_of(prompt_of(40, 1), 30));
  company.scheduler.step();
  CHECK(company.scheduler.stats().blocks - company.scheduler.stats().blocks_free == 4);  // two full ones, and two with what is left
  company.steps();
  CHECK(first.ids == second.ids);
  check_same(first, alone(endless(), request_of(prompt_of(40, 1), 30)));
}

TEST_CASE("What others compute while a prompt is read is taken over") {
  Company company(endless(), {.cache_tokens = 1024, .running = 4, .step_tokens = 64});
  Heard& first = company.ask(request_of(prompt_of(200, 1)));
  Heard& second = company.ask(request_of(prompt_of(201, 1)));
  for (int i = 0; i < 3; ++i) company.scheduler.step();  // 192 of the first one
  CHECK(company.model->rows_run == 192);
  company.scheduler.step();  // its last 8, and the 9 that the second has more
  CHECK(first.ids.size() == 1);
  CHECK(second.ids.size() == 1);
  CHECK(company.model->rows_run == 200 + 9);
  company.steps();
  check_same(first, alone(endless(), request_of(prompt_of(200, 1))));
  check_same(second, alone(endless(), request_of(prompt_of(201, 1))));
  CHECK(second.answer->usage.cached_tokens == 192);

  // Two at once that have nothing but the beginning in common; the second is ahead of the tree only where they differ.
  auto one = prompt_of(150, 2), other = one;
  other[149] = other[149] == a ? b : a;
  Company together(endless(), {.cache_tokens = 1024, .running = 4, .step_tokens = 200});
  Heard &x = together.ask(request_of(one)), &y = together.ask(request_of(other));
  together.scheduler.step();
  CHECK(together.model->rows_run == 150 + 48);
  together.scheduler.step();
  CHECK(together.model->rows_run == 150 + 48 + 1 + 6);  // 144 are known now
  together.steps();
  CHECK(y.answer->usage.cached_tokens == 96);
  check_same(x, alone(endless(), request_of(one)));
  check_same(y, alone(endless(), request_of(other)));
}

TEST_CASE("Several choices read the prompt once and are the answers that each would be alone") {
  for (const bool copies : {true, false})
    for (const int length : {5, 32, 40})
      for (const SchedulerOptions& options : {SchedulerOptions{.cache_tokens = 1024}, SchedulerOptions{.cache_tokens = 1024, .running = 2, .step_tokens = 7},
                                              SchedulerOptions{.cache_tokens = 96}, SchedulerOptions{.cache_tokens = 1024, .prefix_cache = false}}) {
        CAPTURE(copies, length, options.cache_tokens, options.running, options.prefix_cache);
        Company company(endless(), options);
        company.model->copies_blocks = copies;
        constexpr std::uint32_t count = 5;
        std::vector<Heard> heard(count);
        std::vector<Heard*> all;
        for (Heard& one : heard) all.push_back(&one);
        Request request = request_of(prompt_of(length, 3), 20);
        request.choice = 2;
        company.scheduler.submit({.request = request, .events = record(all, 2), .choices = count});
        Heard& neighbour = company.ask(request_of(prompt_of(9, 4), 20));
        company.steps();
        for (std::uint32_t i = 0; i < count; ++i) {
          request.choice = 2 + i;
          check_same(heard[i], alone(endless(), request));
          std::int64_t sum = 0;
          for (const StageTime& stage : heard[i].answer->timing.stages) sum += stage.ns;
          CHECK(sum == heard[i].answer->timing.ttft_ns);
        }
        CHECK(heard[0].ids != heard[1].ids);
        check_same(neighbour, alone(endless(), request_of(prompt_of(9, 4), 20)));
        CHECK(company.scheduler.stats().blocks_free + company.scheduler.stats().blocks_cached == company.scheduler.stats().blocks);
        CHECK(company.scheduler.stats().tokens_in_flight == 0);
        std::size_t rows = static_cast<std::size_t>(length) + 9 + neighbour.ids.size() - 1;
        for (const Heard& one : heard) rows += one.ids.size() - 1;
        if (copies && options.running > 2 && options.cache_tokens > 96) CHECK(company.model->rows_run == static_cast<int>(rows));
      }
}

TEST_CASE("Cancelling a request ends all its choices, wherever they are") {
  for (const int steps : {0, 1, 2, 3, 6}) {
    Company company(endless(), {.cache_tokens = 1024, .running = 3, .step_tokens = 16});
    std::vector<Heard> heard(5);
    std::vector<Heard*> all;
    for (Heard& one : heard) all.push_back(&one);
    const Ticket ticket = company.scheduler.submit({.request = request_of(prompt_of(40, 3), 50), .events = record(all), .choices = 5});
    Heard& neighbour = company.ask(request_of(prompt_of(9, 4), 20));
    for (int i = 0; i < steps; ++i) company.scheduler.step();
    company.scheduler.cancel(ticket);
    company.steps();
    for (const Heard& one : heard) {
      REQUIRE(one.answer);
      CHECK(one.answer->finish_reason == FinishReason::cancelled);
    }
    check_same(neighbour, alone(endless(), request_of(prompt_of(9, 4), 20)));
    CHECK(company.scheduler.stats().cancelled == 5);
  }
}

TEST_CASE("A choice's limits on the cache: prompts that evict each other's beginnings keep their answers") {
  Company company(endless(), {.cache_tokens = 160}, 160);
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < 6; ++i) {
      Heard& heard = company.ask(request_of(prompt_of(60 + i, i), 40), nothing_more());
      company.steps();
      check_same(heard, alone(endless(), request_of(prompt_of(60 + i, i), 40)));
    }
  CHECK(company.scheduler.stats().blocks_free + company.scheduler.stats().blocks_cached == 10);
}
