// How a launch runs. Every legal schedule must give the same bits; a kernel that is right only under one is found by trying several.
#pragma once

#include <cstddef>
#include <cstdint>

namespace diecast::simt {

enum class Schedule {
  forward,  // lane 0 as far as it comes, then lane 1, and so on
  reverse,  // the last lane and the last block first
  random,   // any lane that can go on, and a change at every other meeting; by `seed`
  laggard,  // one warp, or one lane of it, moves only when nobody else can; which one: by `seed`
};

struct Options {
  Schedule schedule = Schedule::forward;
  std::uint64_t seed = 1;
  bool races = true;                    // look for data races; without it a launch takes about half the time
  bool count = false;                   // fill the Counters; each access is remembered until its warp meets
  std::size_t stack_bytes = 64 * 1024;  // of each lane
};

}  // namespace diecast::simt
