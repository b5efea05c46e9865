// The thread sanitizer as a second judge of races, in programs that have it (preset tsan); in others nothing happens here. It has its own
// clocks and its own memory of accesses, and knows nothing of clocks.hpp and races.hpp. Each lane is a fiber for it, while the kernel's own
// code runs; whatever the executor does is done as the thread that launched, which it is told to overlook. So two lanes are ordered by what
// is said here and by nothing else. This library is compiled without the sanitizer, kernels with it: it sees their loads and stores itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <diecast/kernels/context.hpp>
#include <diecast/simt/lane.hpp>

extern "C" __attribute__((weak)) void* __tsan_create_fiber(unsigned flags);

namespace diecast::simt {

// What a release leaves and an acquire takes. Nothing stays of it when it ends.
class SanitizerOrder {
 public:
  void release();
  void acquire() const;

 private:
  std::unique_ptr<char> at_;
};

// Fibers are dear (up to 0.8 MiB each): they are kept from launch to launch.
class SanitizerFibers {
 public:
  SanitizerFibers() = default;
  ~SanitizerFibers() { forget(); }
  SanitizerFibers(const SanitizerFibers&) = delete;
  SanitizerFibers& operator=(const SanitizerFibers&) = delete;
  void* at(std::size_t index);
  void forget();  // what ran as them was left in the middle
  const std::vector<void*>& all() const { return fibers_; }

 private:
  std::vector<void*> fibers_;
};

class RaceSanitizer {
 public:
  static constexpr std::size_t most_lanes = 512;  // and as many fibers more where each of them copies asynchronously

  static bool present() { return &__tsan_create_fiber != nullptr; }
  // A launch of so many lanes in all. Where there are too many to tell apart, every switch orders: the sanitizer has nothing to say then.
  RaceSanitizer(SanitizerFibers& fibers, std::size_t lanes);
  ~RaceSanitizer();  // whoever launched knows what all lanes did
  RaceSanitizer(const RaceSanitizer&) = delete;
  RaceSanitizer& operator=(const RaceSanitizer&) = delete;
  bool judges() const { return judges_; }
  void abandon() { abandoned_ = true; }  // some lanes were left in the middle

  void* lane(std::size_t index) { return executor_ != nullptr ? fibers_.at(2 * index) : nullptr; }
  void enter_kernel(void* lane) const;  // for the first time: it knows what was done before the launch
  void to_kernel(void* lane) const {
    if (present()) switch_to(lane);
  }
  void to_executor() const {
    if (present()) switch_to(executor_);
  }

  // What follows does nothing unless it judges.
  void release(void* lane, SanitizerOrder& order) const {
    if (judges_) as(lane, [&] { order.release(); });
  }
  void acquire(void* lane, const SanitizerOrder& order) const {
    if (judges_) as(lane, [&] { order.acquire(); });
  }
  // Each of them knows what all of them did. `lanes` calls what it is given with each.
  template <class Lanes>
  void meet(Lanes lanes) const {
    if (!judges_) return;
    SanitizerOrder order;
    lanes([&](void* lane) { release(lane, order); });
    lanes([&](void* lane) { acquire(lane, order); });
  }
  void write(void* lane, void* to, std::size_t bytes) const;
  // Does it at the place itself, or to leave its value, adds nothing to it.
  void update(void* lane, Update, void* at, std::size_t bytes, std::uint64_t value, kernels::Order) const;
  // An asynchronous copy reads and writes at any time between here and its landing, whatever its lane does meanwhile.
  void copy(std::size_t index, const void* from, void* to, std::size_t bytes, SanitizerOrder& landed);

 private:
  void switch_to(void* fiber) const;
  template <class F>
  void as(void* fiber, F f) const {
    switch_to(fiber);
    f();
    switch_to(executor_);
  }

  SanitizerFibers& fibers_;
  void* executor_ = nullptr;
  bool judges_ = false, abandoned_ = false;
};

}  // namespace diecast::simt
