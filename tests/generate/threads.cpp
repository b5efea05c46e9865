// Clients on threads of their own against one loop: they come, read, and leave at random moments; every finished answer is the one that it would
// be alone.
#include <catch2/catch.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <random>
#include <thread>

#include "scripted_company.hpp"

using namespace diecast;
using namespace diecast::testing;

namespace {

// What a client waits for.
struct Mailbox {
  std::mutex mutex;
  std::condition_variable news;
  std::string text;
  std::vector<int> ids;
  std::optional<Answer> answer;
  std::string error;
};

Request request_of(int i) {
  return {.prompt = prompt_of(1 + i * 5 % 60, i % 3), .sampling = {.temperature = 1, .seed = static_cast<std::uint64_t>(i)}, .max_tokens = 1 + i * 3 % 30};
}

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

TEST_CASE("Many clients, some of which leave: nothing is lost, mixed or left behind") {
  constexpr int clients = 12, rounds = 25, kinds = 15;
  std::vector<Answer> expected;
  for (int i = 0; i < kinds; ++i) expected.push_back(alone(endless(), request_of(i)));

  Company company(endless(), {.cache_tokens = 512, .running = 6, .step_tokens = 32, .waiting = 8});
  Scheduler& scheduler = company.scheduler;
  std::jthread loop([&](std::stop_token stop) { scheduler.run(stop); });
  std::atomic<int> finished = 0, cancelled = 0, refused = 0, wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int client = 0; client < clients; ++client)
      threads.emplace_back([&, client] {
        std::mt19937 random(static_cast<unsigned>(client));
        for (int round = 0; round < rounds; ++round) {
          const int kind = static_cast<int>(random() % kinds);
          const bool leaves = random() % 5 == 0;
          const std::size_t leaves_after = random() % 8;
          const auto box = std::make_shared<Mailbox>();
          const auto locked = [box](const auto& change) {
            {
              const std::lock_guard lock(box->mutex);
              change();
            }
            box->news.notify_one();
          };
          RequestEvents events{.piece = [=](const Piece& piece) { locked([&] { box->text += piece.text, box->ids.push_back(piece.id); }); },
                               .finished = [=](Answer&& answer, const Trace&) { locked([&] { box->answer = std::move(answer); }); },
                               .failed = [=](const Error& error, std::uint32_t) { locked([&] { box->error = error.what(); }); }};
          Ticket ticket = 0;
          while (ticket == 0) {
            try {
              ticket = scheduler.submit({.request = request_of(kind), .events = events, .salt = kind % 2 == 0 ? "" : "salt"});
            } catch (const Refused&) {
              ++refused;
              std::this_thread::sleep_for(std::chrono::microseconds(200));
            }
          }
          std::unique_lock lock(box->mutex);
          if (leaves) {
            box->news.wait(lock, [&] { return box->answer || box->ids.size() >= leaves_after; });
            lock.unlock();
            scheduler.cancel(ticket);
            lock.lock();
          }
          box->news.wait(lock, [&] { return box->answer || !box->error.empty(); });
          if (!box->answer) {
            ++wrong;
            continue;
          }
          const Answer& right = expected[static_cast<std::size_t>(kind)];
          const Answer& answer = *box->answer;
          if (answer.finish_reason == FinishReason::cancelled) {  // as far as it went it is the same
            ++cancelled;
            if (answer.ids.size() > right.ids.size() || !std::equal(answer.ids.begin(), answer.ids.end(), right.ids.begin())) ++wrong;
          } else {
            ++finished;
            if (answer.ids != right.ids || answer.text != right.text) ++wrong;
          }
          if (answer.ids != box->ids || answer.text != box->text) ++wrong;
          (void)scheduler.stats();
        }
      });
  }
  CHECK(wrong == 0);
  CHECK(finished + cancelled == clients * rounds);
  CHECK(cancelled > 0);
  scheduler.close();
  loop.join();
  const SchedulerStats stats = scheduler.stats();
  CHECK(stats.blocks_free + stats.blocks_cached == stats.blocks);
  CHECK(stats.running + stats.waiting == 0);
  CHECK(stats.tokens_in_flight == 0);
  CHECK(stats.finished == static_cast<std::uint64_t>(finished));
  CHECK(stats.cancelled == static_cast<std::uint64_t>(cancelled));
  CHECK(stats.refused == static_cast<std::uint64_t>(refused));
}

TEST_CASE("A loop that waits uses no CPU, and wakes for what comes") {
  Company company(endless());
  std::jthread loop([&](std::stop_token stop) { company.scheduler.run(stop); });
  for (int i = 0; i < 3; ++i) {
    const double before = cpu_seconds();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    CHECK(cpu_seconds() - before < 0.05);
    std::atomic<bool> over = false;
    company.scheduler.submit({.request = {.prompt = prompt_of(5, 1), .max_tokens = 3},
                              .events = {.finished = [&](Answer&&, const Trace&) { over = true, over.notify_one(); }}});
    over.wait(false);
  }
}

TEST_CASE("What was accepted before the end is answered, though the loop slept") {
  for (int i = 0; i < 20; ++i) {
    Company company(endless());
    std::jthread loop([&](std::stop_token stop) { company.scheduler.run(stop); });
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // it sleeps, else the test is no worse than another
    Heard& heard = company.ask({.prompt = prompt_of(5, i), .max_tokens = 3});
    company.scheduler.close();
    loop.join();
    REQUIRE(heard.over());
    CHECK(heard.ids.size() == 3);
  }
}

TEST_CASE("Events may submit and cancel") {
  Company company(endless());
  std::atomic<int> answered = 0;
  std::function<void(int)> ask = [&](int left) {
    company.scheduler.submit({.request = {.prompt = prompt_of(5, left), .max_tokens = 3}, .events = {.finished = [&, left](Answer&&, const Trace&) {
                                ++answered;
                                if (left > 0) ask(left - 1);
                                else company.scheduler.close();
                                (void)company.scheduler.stats();
                              }}});
  };
  ask(9);
  std::stop_source never;
  company.scheduler.run(never.get_token());
  CHECK(answered == 10);
}
