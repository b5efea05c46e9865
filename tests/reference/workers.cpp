#include <diecast/reference/workers.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>
#include <stdexcept>

using diecast::reference::Workers;

TEST_CASE("every piece runs exactly once, however many threads and rounds") {
  for (int threads : {1, 2, 3, 7}) {
    Workers workers(threads);
    for (int round = 0; round < 300; ++round) {
      const int count = round % 37;
      std::vector<int> runs(static_cast<std::size_t>(count), 0);
      workers.run(count, [&](int i) { ++runs[static_cast<std::size_t>(i)]; });
      REQUIRE(std::all_of(runs.begin(), runs.end(), [](int n) { return n == 1; }));
    }
  }
}

TEST_CASE("what a round writes is seen by the next and by the caller") {
  Workers workers(3);
  std::vector<long> values(64, 1);
  for (int round = 0; round < 200; ++round) {
    workers.run(64, [&](int i) { values[static_cast<std::size_t>(i)] += 1; });
    REQUIRE(std::accumulate(values.begin(), values.end(), 0L) == 64L * (round + 2));
  }
}

TEST_CASE("an exception comes out once, and the workers go on") {
  Workers workers(4);
  CHECK_THROWS_AS(workers.run(50, [](int i) { if (i == 20) throw std::runtime_error("piece 20"); }), std::runtime_error);
  std::atomic<int> sum{0};
  workers.run(50, [&](int i) { sum += i; });
  CHECK(sum == 1225);
}
