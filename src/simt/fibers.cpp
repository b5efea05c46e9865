#include "fibers.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <string>

#include <diecast/error.hpp>

#if defined(__SANITIZE_ADDRESS__)
#define DIECAST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DIECAST_ASAN 1
#endif
#endif
#ifdef DIECAST_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// The thread sanitizer's words for fibers, where it is in the program; this unit itself is compiled without it. Every switch synchronises for
// it: what lanes do to each other is the business of the executor's own detector (races.hpp), which knows the rules of the device.
extern "C" {
__attribute__((weak)) void* __tsan_get_current_fiber();
__attribute__((weak)) void* __tsan_create_fiber(unsigned flags);
__attribute__((weak)) void __tsan_destroy_fiber(void* fiber);
__attribute__((weak)) void __tsan_switch_to_fiber(void* fiber, unsigned flags);
}

namespace diecast::simt {
namespace {

#ifdef DIECAST_ASAN
void before_switch(void** fake_stack, const void* bottom, std::size_t bytes) { __sanitizer_start_switch_fiber(fake_stack, bottom, bytes); }
void after_switch(void* fake_stack, const void** bottom, std::size_t* bytes) { __sanitizer_finish_switch_fiber(fake_stack, bottom, bytes); }
void clean(std::byte* bottom, std::size_t bytes) { __asan_unpoison_memory_region(bottom, bytes); }
#else
void before_switch(void**, const void*, std::size_t) {}
void after_switch(void*, const void**, std::size_t*) {}
void clean(std::byte*, std::size_t) {}
#endif

}  // namespace

Stacks::~Stacks() { release(); }

void Stacks::forget() {
  for (void* fiber : fibers_)
    if (fiber != nullptr) __tsan_destroy_fiber(fiber);
  fibers_.clear();
}

void* Stacks::thread_sanitizer_fiber(std::size_t index) {
  if (&__tsan_create_fiber == nullptr) return nullptr;
  if (fibers_.size() <= index) fibers_.resize(index + 1);
  if (fibers_[index] == nullptr) fibers_[index] = __tsan_create_fiber(0);
  return fibers_[index];
}

void Stacks::release() {
  forget();
  if (mapping_ == nullptr) return;
  for (std::size_t i = 0; i < count_; ++i) clean(bottom(i), bytes_);
  ::munmap(mapping_, count_ * (guard_ + bytes_));
  mapping_ = nullptr;
}

void Stacks::provide(std::size_t count, std::size_t bytes) {
  bytes = (bytes + guard_ - 1) / guard_ * guard_;
#ifdef DIECAST_ASAN
  bytes *= 4;  // its frames are larger
#endif
  if (count <= count_ && bytes <= bytes_) return;
  release();
  const std::size_t all = count * (guard_ + bytes);
  void* pages = ::mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) {
    count_ = bytes_ = 0;
    throw Error("the system does not give " + std::to_string(all >> 20) + " MiB for the stacks of " + std::to_string(count) + " threads", Blame::program);
  }
  mapping_ = static_cast<std::byte*>(pages);
  count_ = count;
  bytes_ = bytes;
  for (std::size_t i = 0; i < count; ++i) ::mprotect(bottom(i) - guard_, guard_, PROT_NONE);
}

void Fiber::entry(boost::context::detail::transfer_t transfer) {
  auto& fiber = *static_cast<Fiber*>(transfer.data);
  after_switch(nullptr, &fiber.scheduler_bottom_, &fiber.scheduler_bytes_);
  fiber.scheduler_ = transfer.fctx;
  fiber.run_(fiber.argument_);
  std::abort();  // run ends with leave_for_good
}

void Fiber::start(std::byte* bottom, std::size_t bytes, void (*run)(void*), void* argument, void* thread_sanitizer_fiber) {
  clean(bottom, bytes);
  run_ = run;
  argument_ = argument;
  bottom_ = bottom;
  bytes_ = bytes;
  own_fake_stack_ = nullptr;
  thread_sanitizer_fiber_ = thread_sanitizer_fiber;
  self_ = boost::context::detail::make_fcontext(bottom + bytes, bytes, &Fiber::entry);
}

void Fiber::resume() {
  before_switch(&scheduler_fake_stack_, bottom_, bytes_);
  if (thread_sanitizer_fiber_ != nullptr) {
    thread_sanitizer_scheduler_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(thread_sanitizer_fiber_, 0);
  }
  self_ = boost::context::detail::jump_fcontext(self_, this).fctx;
  after_switch(scheduler_fake_stack_, nullptr, nullptr);
}

void Fiber::suspend() {
  before_switch(&own_fake_stack_, scheduler_bottom_, scheduler_bytes_);
  if (thread_sanitizer_fiber_ != nullptr) __tsan_switch_to_fiber(thread_sanitizer_scheduler_, 0);
  scheduler_ = boost::context::detail::jump_fcontext(scheduler_, this).fctx;
  after_switch(own_fake_stack_, &scheduler_bottom_, &scheduler_bytes_);
}

void Fiber::leave_for_good() {
  before_switch(nullptr, scheduler_bottom_, scheduler_bytes_);
  if (thread_sanitizer_fiber_ != nullptr) __tsan_switch_to_fiber(thread_sanitizer_scheduler_, 0);
  boost::context::detail::jump_fcontext(scheduler_, this);
  std::abort();
}

}  // namespace diecast::simt
