#include "race_sanitizer.hpp"

extern "C" {
__attribute__((weak)) void* __tsan_get_current_fiber();
__attribute__((weak)) void __tsan_destroy_fiber(void* fiber);
__attribute__((weak)) void __tsan_switch_to_fiber(void* fiber, unsigned flags);
__attribute__((weak)) void __tsan_ignore_thread_begin();
__attribute__((weak)) void __tsan_ignore_thread_end();
__attribute__((weak)) void __tsan_acquire(void*);
__attribute__((weak)) void __tsan_release(void*);
__attribute__((weak)) void __tsan_read_range(void*, unsigned long);
__attribute__((weak)) void __tsan_write_range(void*, unsigned long);
__attribute__((weak)) int __tsan_atomic32_load(const volatile void*, int);
__attribute__((weak)) void __tsan_atomic32_store(volatile void*, int, int);
__attribute__((weak)) int __tsan_atomic32_fetch_add(volatile void*, int, int);
__attribute__((weak)) long __tsan_atomic64_fetch_add(volatile void*, long, int);
}

namespace diecast::simt {
namespace {

constexpr unsigned without_order = 1;  // __tsan_switch_to_fiber_no_sync

// As the sanitizer's functions number std::memory_order.
int number_of(kernels::Order order, Update what) {
  const bool acquires = order == kernels::Order::acquire || order == kernels::Order::acquire_release;
  const bool releases = order == kernels::Order::release || order == kernels::Order::acquire_release;
  if (what == Update::load) return acquires ? 2 : 0;
  if (what == Update::store) return releases ? 3 : 0;
  return acquires && releases ? 4 : releases ? 3 : acquires ? 2 : 0;
}

}  // namespace

void SanitizerOrder::release() {
  if (at_ == nullptr) at_ = std::make_unique<char>();
  __tsan_release(at_.get());
}

void SanitizerOrder::acquire() const {
  if (at_ != nullptr) __tsan_acquire(at_.get());
}

void* SanitizerFibers::at(std::size_t index) {
  if (fibers_.size() <= index) fibers_.resize(index + 1);
  if (fibers_[index] == nullptr) fibers_[index] = __tsan_create_fiber(0);
  return fibers_[index];
}

void SanitizerFibers::forget() {
  for (void* fiber : fibers_)
    if (fiber != nullptr) __tsan_destroy_fiber(fiber);
  fibers_.clear();
}

RaceSanitizer::RaceSanitizer(SanitizerFibers& fibers, std::size_t lanes) : fibers_(fibers) {
  if (!present()) return;
  executor_ = __tsan_get_current_fiber();
  judges_ = lanes <= most_lanes;
  __tsan_ignore_thread_begin();
}

RaceSanitizer::~RaceSanitizer() {
  if (executor_ == nullptr) return;
  SanitizerOrder end;
  for (void* fiber : fibers_.all())
    if (fiber != nullptr) as(fiber, [&] { end.release(); });
  end.acquire();
  if (abandoned_) fibers_.forget();
  __tsan_ignore_thread_end();
}

void RaceSanitizer::switch_to(void* fiber) const { __tsan_switch_to_fiber(fiber, judges_ ? without_order : 0); }

void RaceSanitizer::enter_kernel(void* lane) const {
  if (executor_ != nullptr) __tsan_switch_to_fiber(lane, 0);
}

void RaceSanitizer::write(void* lane, void* to, std::size_t bytes) const {
  if (judges_) as(lane, [&] { __tsan_write_range(to, bytes); });
}

void RaceSanitizer::update(void* lane, Update what, void* at, std::size_t bytes, std::uint64_t value, kernels::Order order) const {
  if (!judges_) return;
  as(lane, [&] {
    if (what == Update::load)
      __tsan_atomic32_load(at, number_of(order, what));
    else if (what == Update::store)
      __tsan_atomic32_store(at, static_cast<int>(value), number_of(order, what));
    else if (bytes == 4)
      __tsan_atomic32_fetch_add(at, 0, number_of(order, what));
    else
      __tsan_atomic64_fetch_add(at, 0, number_of(order, what));
  });
}

void RaceSanitizer::copy(std::size_t index, const void* from, void* to, std::size_t bytes, SanitizerOrder& landed) {
  if (!judges_) return;
  release(lane(index), landed);
  as(fibers_.at(2 * index + 1), [&] {
    landed.acquire();
    if (from != nullptr) __tsan_read_range(const_cast<void*>(from), bytes);
    __tsan_write_range(to, bytes);
    landed.release();
  });
}

}  // namespace diecast::simt
