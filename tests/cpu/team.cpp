// Threads that run and meet: every phase's writes are seen in the next, whatever the number of threads. Also run under the thread sanitizer.
#include <diecast/cpu/team.hpp>

#include <catch2/catch.hpp>

#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

using diecast::cpu::Team;

TEST_CASE("every thread runs once for each call") {
  for (const int threads : {1, 2, 3, 4}) {
    Team team(threads);
    CHECK(team.size() == threads);
    std::vector<int> runs(static_cast<std::size_t>(threads));
    for (int round = 0; round < 500; ++round) team.run([&](int thread) { ++runs[static_cast<std::size_t>(thread)]; });
    for (const int count : runs) CHECK(count == 500);
  }
}

TEST_CASE("what is written before a meeting is read after it") {
  for (const int threads : {1, 2, 3, 4}) {
    Team team(threads);
    constexpr int phases = 40;
    std::vector<long> values(static_cast<std::size_t>(threads)), sums(static_cast<std::size_t>(threads));
    for (int round = 0; round < 50; ++round) {
      team.run([&](int thread) {
        const auto own = static_cast<std::size_t>(thread);
        for (int phase = 0; phase < phases; ++phase) {
          values[own] = (round + 1) * 1000 + phase + thread;
          team.meet();
          sums[own] = std::accumulate(values.begin(), values.end(), 0L);  // of all threads
          team.meet();
        }
      });
      const long right = static_cast<long>(threads) * ((round + 1) * 1000 + phases - 1) + threads * (threads - 1) / 2;
      for (const long sum : sums) REQUIRE(sum == right);  // the caller sees them without another meeting
      values.assign(values.size(), -round);               // and the threads see what the caller writes between two calls
    }
  }
}

TEST_CASE("threads that wait for one another long are not lost") {
  Team team(3);
  std::vector<int> order;
  team.run([&](int thread) {
    for (int turn = 0; turn < 3; ++turn) {
      if (thread == turn) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));  // the others spin, then yield
        order.push_back(turn);
      }
      team.meet();
    }
  });
  CHECK((order == std::vector<int>{0, 1, 2}));
}

TEST_CASE("a team wakes after it slept, and ends while it sleeps, spins, or has never run") {
  for (const int threads : {1, 2, 4}) {
    { const Team never(threads); }
    Team team(threads);
    int total = 0;
    for (int round = 0; round < 3; ++round) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // longer than it spins
      std::vector<int> seen(static_cast<std::size_t>(threads));
      team.run([&](int thread) { seen[static_cast<std::size_t>(thread)] = 1; });
      total += std::accumulate(seen.begin(), seen.end(), 0);
    }
    CHECK(total == 3 * threads);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  for (int round = 0; round < 50; ++round) {
    Team team(4);
    team.run([](int) {});
  }
}
