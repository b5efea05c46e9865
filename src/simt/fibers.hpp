// The stacks that lanes run on, and the switch between a lane and the scheduler. Boost.Context's bare switch is used, not its class fiber:
// the lanes of a launch that ended with a fault are left where they stand, without unwinding frames that nobody will ever need.
#pragma once

#include <cstddef>

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
};

// A flow of control with its own stack. The scheduler is one, too, on the stack of whoever launched.
class Fiber {
 public:
  // `run` is entered at the first switch and never returns: it ends with a switch that nobody answers.
  void start(std::byte* bottom, std::size_t bytes, void (*run)(void*), void* argument);
  void switch_to(Fiber& other);  // from this one, which runs now; returns when somebody switches back
  [[noreturn]] void leave_for(Fiber& other);
  std::byte* bottom() const { return bottom_; }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Switch {
    Fiber *from, *to;
  };
  static void entry(boost::context::detail::transfer_t transfer);
  static Fiber& arrived(boost::context::detail::transfer_t transfer);
  void prepare(Fiber& other, bool comes_back);

  boost::context::detail::fcontext_t context_ = nullptr;
  void (*run_)(void*) = nullptr;
  void* argument_ = nullptr;
  // What the address sanitizer wants to know of a switch. The thread sanitizer sees none: race_sanitizer.hpp.
  std::byte* bottom_ = nullptr;
  std::size_t bytes_ = 0;
  void* fake_stack_ = nullptr;
};

}  // namespace diecast::simt
