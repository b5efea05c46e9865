// A kernel that dereferences an address of the device touches a page that nothing backs. While a launch runs, the signal that follows is
// turned into a report: the lane goes on in Machine::segment_violation instead of at the instruction that failed. Anything else that
// raises the signal is left to whoever handled it before.
#pragma once

#include <csignal>
#include <cstddef>
#include <memory>

#include "fibers.hpp"

namespace diecast::simt {

struct LaneState;

class Violations {
 public:
  explicit Violations(const Stacks& stacks);
  ~Violations();
  Violations(const Violations&) = delete;
  Violations& operator=(const Violations&) = delete;

  static thread_local LaneState* running;

 private:
  std::unique_ptr<std::byte[]> handler_stack_;
  stack_t old_stack_{};
};

}  // namespace diecast::simt
