// One launch under many schedules, each from the same memory: what they leave must be the same bytes, written or not.
#include <cstring>

#include <boost/core/demangle.hpp>

#include "machine.hpp"

namespace diecast::simt {
namespace {

struct Image {
  Address begin;
  std::string name;
  std::size_t element;
  bool may_differ;
  std::vector<std::byte> bytes;
  std::vector<State> states;
};

// Constants stay as they are, and shared memory means nothing between launches.
std::vector<Image> image_of(const Memory::Impl& memory) {
  std::vector<Image> images;
  for (const Region& region : memory.regions) {
    if (region.begin == 0 || region.constant || region.shared) continue;
    const std::size_t size = region.end - region.begin;
    images.push_back({region.begin,
                      region.name,
                      region.element,
                      region.may_differ,
                      {memory.bytes(region.begin), memory.bytes(region.begin) + size},
                      {memory.state(region.begin), memory.state(region.begin) + size}});
  }
  return images;
}

void restore(const Memory::Impl& memory, const std::vector<Image>& images) {
  for (const Image& image : images) {
    if (image.bytes.empty()) continue;
    std::memcpy(memory.bytes(image.begin), image.bytes.data(), image.bytes.size());
    std::memcpy(memory.state(image.begin), image.states.data(), image.states.size());
  }
}

std::string name_of(const Options& options) {
  switch (options.schedule) {
    case Schedule::forward:
      return "forward";
    case Schedule::reverse:
      return "reverse";
    case Schedule::random:
      return "random, seed " + std::to_string(options.seed);
    case Schedule::laggard:
      return "laggard, seed " + std::to_string(options.seed);
  }
  return "";
}

}  // namespace

Counters agree(Memory& memory, const Kernel& kernel, int blocks, const void* params, const Options& given) {
  const std::vector<Image> before = image_of(memory.impl());
  std::vector<Image> expected;
  Counters counters;
  const std::pair<Schedule, std::uint64_t> schedules[] = {{Schedule::forward, 0},
                                                          {Schedule::reverse, 0},
                                                          {Schedule::random, given.seed},
                                                          {Schedule::random, given.seed + 1},
                                                          {Schedule::random, given.seed + 2},
                                                          {Schedule::laggard, given.seed},
                                                          {Schedule::laggard, given.seed + 1}};
  for (const auto& [schedule, seed] : schedules) {
    Options options = given;
    options.schedule = schedule;
    options.seed = seed;
    options.count = given.count && schedule == Schedule::forward;
    if (schedule != Schedule::forward) restore(memory.impl(), before);
    Counters counted = launch(memory, kernel, blocks, params, options);
    std::vector<Image> after = image_of(memory.impl());
    if (schedule == Schedule::forward) {
      expected = std::move(after);
      counters = std::move(counted);
      continue;
    }
    for (std::size_t i = 0; i < after.size(); ++i) {
      if (after[i].may_differ) continue;
      for (std::size_t at = 0; at < after[i].bytes.size(); ++at) {
        const bool written = after[i].states[at] == State::written;
        if (written == (expected[i].states[at] == State::written) && (!written || after[i].bytes[at] == expected[i].bytes[at])) continue;
        throw Fault(FaultKind::schedule, "kernel " + boost::core::demangle(kernel.type->name()) + ": " + after[i].name + "[" +
                                             std::to_string(at / after[i].element) + "] depends on the schedule: forward and " +
                                             name_of(options) + " leave different bits");
      }
    }
  }
  restore(memory.impl(), expected);
  return counters;
}

}  // namespace diecast::simt
