// Runs a kernel that is wrong, under every schedule, and gives what the executor said. A schedule that lets it pass fails the test.
#pragma once

#include <catch2/catch.hpp>

#include <string>

#include <diecast/simt/launch.hpp>

namespace diecast_test {

struct Said {
  diecast::simt::FaultKind kind;
  std::string sentence;
};

// What is said under the forward schedule; under the others the kind must be the same.
template <class Op>
Said said(diecast::simt::Memory& memory, int blocks, const typename Op::Params& params) {
  using diecast::simt::Schedule;
  Said first{};
  int runs = 0;
  for (const Schedule schedule : {Schedule::forward, Schedule::reverse, Schedule::random, Schedule::laggard})
    for (const std::uint64_t seed : {1u, 2u}) {
      try {
        diecast::simt::launch<Op>(memory, blocks, params, {.schedule = schedule, .seed = seed});
        FAIL("schedule " << static_cast<int>(schedule) << ", seed " << seed << ": a wrong kernel passed");
      } catch (const diecast::simt::Fault& fault) {
        if (runs++ == 0) first = {fault.kind(), fault.what()};
        INFO(fault.what());
        CHECK(static_cast<int>(fault.kind()) == static_cast<int>(first.kind));
      }
    }
  return first;
}


}  // namespace diecast_test
