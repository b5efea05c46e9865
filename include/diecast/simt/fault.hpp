// What the executor says of a wrong kernel: one sentence that names the kernel, the block and thread, the place in the source, and
// what it did. The first fault ends the launch.
#pragma once

#include <string>

#include <diecast/error.hpp>

namespace diecast::simt {

enum class FaultKind {
  out_of_bounds,        // outside of the buffer that the pointer belongs to; or no device memory at all
  misaligned,           // an address that is no multiple of the access's size
  unwritten,            // a read of memory that nobody has written
  read_only,            // a store to constants, or to what load_constant and load_once take for constant
  in_flight,            // an access to memory that an asynchronous copy is still writing
  copy_not_awaited,     // a thread ended before its asynchronous copies had landed
  race,                 // two accesses, one of them a store, that no barrier and no flag orders
  divergent,            // lanes of a warp that do not meet: other mask, other place, other operation, or never
  barrier_not_reached,  // a block barrier that some threads never reach, or reach at another place
  named_barrier,        // a named barrier used twice at once, or by too many threads
  deadlock,             // nobody can go on
  wrong_argument,       // an argument that the device does not take
  raw_dereference,      // an access that went past the context
  schedule,             // other bits under another schedule
};

class Fault : public Error {
 public:
  Fault(FaultKind kind, const std::string& sentence) : Error(sentence, Blame::program), kind_(kind) {}
  FaultKind kind() const noexcept { return kind_; }

 private:
  FaultKind kind_;
};

}  // namespace diecast::simt
