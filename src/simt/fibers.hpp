// The stacks that lanes run on, and the switch between a lane and the scheduler. Boost.Context's bare switch is used, not its class fiber:
// the lanes of a launch that ended with a fault are left where they stand, without unwinding frames that nobody will ever need.
#pragma once

#include <cstddef>
#include <vector>

#include <boost/context/detail/fcontext.hpp>

namespace diecast::simt {

// Equal stacks in one mapping, each with a page below that nobody may touch.
class Stacks {
 public:
  Stacks() = default;
  ~Stacks();
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  void provide(std::size_t count, std::size_t bytes);  // at least so many, each at least so large; what runs on them is lost
  void forget();                                       // what runs on them was left in the middle
  void* thread_sanitizer_fiber(std::size_t index);     // null where that sanitizer is not in the program
  std::byte* bottom(std::size_t index) const { return mapping_ + index * (guard_ + bytes_) + guard_; }
  std::size_t bytes() const { return bytes_; }
  bool is_guard(const void* address) const {
    const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - mapping_);
    return address >= mapping_ && offset < count_ * (guard_ + bytes_) && offset % (guard_ + bytes_) < guard_;
  }

 private:
  void release();
  static constexpr std::size_t guard_ = 4096;
  std::byte* mapping_ = nullptr;
  std::size_t count_ = 0, bytes_ = 0;
  std::vector<void*> fibers_;  // of the thread sanitizer
};

class Fiber {
 public:
  // `run` is entered at the first resume and never returns: it ends with leave_for_good.
  void start(std::byte* bottom, std::size_t bytes, void (*run)(void*), void* argument, void* thread_sanitizer_fiber);
  void resume();          // from the scheduler, until the fiber suspends itself
  void suspend();         // from the fiber
  [[noreturn]] void leave_for_good();
  std::byte* bottom() const { return bottom_; }
  std::size_t bytes() const { return bytes_; }

 private:
  static void entry(boost::context::detail::transfer_t transfer);

  boost::context::detail::fcontext_t self_ = nullptr, scheduler_ = nullptr;
  void (*run_)(void*) = nullptr;
  void* argument_ = nullptr;
  std::byte* bottom_ = nullptr;
  std::size_t bytes_ = 0;
  void* thread_sanitizer_fiber_ = nullptr;
  void* thread_sanitizer_scheduler_ = nullptr;
  // What the address sanitizer wants to know of a switch.
  void* own_fake_stack_ = nullptr;
  void* scheduler_fake_stack_ = nullptr;
  const void* scheduler_bottom_ = nullptr;
  std::size_t scheduler_bytes_ = 0;
};

}  // namespace diecast::simt
