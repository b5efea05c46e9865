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

void Stacks::release() {
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
    throw Error("the system does not give " + std::to_string(all >> 20) + " MiB for the stacks of " + std::to_string(count) + " threads",
                Blame::program);
  }
  mapping_ = static_cast<std::byte*>(pages);
  count_ = count;
  bytes_ = bytes;
  for (std::size_t i = 0; i < count; ++i) ::mprotect(bottom(i) - guard_, guard_, PROT_NONE);
}

void Fiber::start(std::byte* bottom, std::size_t bytes, void (*run)(void*), void* argument) {
  clean(bottom, bytes);
  run_ = run;
  argument_ = argument;
  bottom_ = bottom;
  bytes_ = bytes;
  fake_stack_ = nullptr;
  context_ = boost::context::detail::make_fcontext(bottom + bytes, bytes, &Fiber::entry);
}

void Fiber::prepare(Fiber& other, bool comes_back) { before_switch(comes_back ? &fake_stack_ : nullptr, other.bottom_, other.bytes_); }

// The one that was switched to notes where the other stands.
Fiber& Fiber::arrived(boost::context::detail::transfer_t transfer) {
  const Switch now = *static_cast<const Switch*>(transfer.data);
  now.from->context_ = transfer.fctx;
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  after_switch(now.to->fake_stack_, &bottom, &bytes);
  if (bytes != 0 && now.from->bottom_ == nullptr) {  // the scheduler's
    now.from->bottom_ = static_cast<std::byte*>(const_cast<void*>(bottom));
    now.from->bytes_ = bytes;
  }
  return *now.to;
}

void Fiber::entry(boost::context::detail::transfer_t transfer) {
  Fiber& fiber = arrived(transfer);
  fiber.run_(fiber.argument_);
  std::abort();  // run ends with leave_for
}

void Fiber::switch_to(Fiber& other) {
  Switch now{this, &other};
  prepare(other, true);
  arrived(boost::context::detail::jump_fcontext(other.context_, &now));
}

void Fiber::leave_for(Fiber& other) {
  Switch now{this, &other};
  prepare(other, false);
  boost::context::detail::jump_fcontext(other.context_, &now);
  std::abort();
}

}  // namespace diecast::simt
