// Threads that share work in pieces which do not depend on their number: the same bits for any. They spin briefly for the next work,
// then sleep, so an idle engine uses no CPU; and the caller never waits for a thread that has not begun: it does the pieces itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace diecast::reference {

class Workers {
 public:
  explicit Workers(int threads) {
    for (int i = 1; i < threads; ++i) helpers_.emplace_back([this](std::stop_token stop) { serve(stop); });
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() {
    for (auto& helper : helpers_) helper.request_stop();
    epoch_.fetch_add(1, std::memory_order_release);
    epoch_.notify_all();
  }

  // Calls work(i) once for each i in [0, count), on any of the threads; the first exception comes out here.
  template <class Work>
  void run(int count, const Work& work) {
    if (helpers_.empty() || count <= 1) {
      for (int i = 0; i < count; ++i) work(i);
      return;
    }
    // Closed first: nobody takes a piece while the fields change (a late helper's ticket is old, and its exchange fails).
    const std::uint64_t generation = ++generation_;
    ticket_.store(generation << 32 | closed, std::memory_order_relaxed);
    done_.store(0, std::memory_order_relaxed);
    count_.store(static_cast<std::uint32_t>(count), std::memory_order_relaxed);
    call_.store([](const void* object, int i) { (*static_cast<const Work*>(object))(i); }, std::memory_order_relaxed);
    object_.store(&work, std::memory_order_relaxed);
    ticket_.store(generation << 32, std::memory_order_release);  // the fields above are seen by whoever sees this
    epoch_.fetch_add(1, std::memory_order_release);
    epoch_.notify_all();
    take_pieces();
    while (done_.load(std::memory_order_acquire) != static_cast<std::uint32_t>(count)) std::this_thread::yield();  // pieces that helpers have begun
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  static constexpr std::uint64_t closed = 0xffffffff;
  static constexpr int spins = 4000;  // some ten microseconds: longer than the gap between two products of one block

  void take_pieces() {
    while (true) {
      std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
      const std::uint64_t piece = ticket & closed;
      if (piece >= count_.load(std::memory_order_relaxed)) return;
      const auto call = call_.load(std::memory_order_relaxed);
      const void* const object = object_.load(std::memory_order_relaxed);
      if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel)) continue;
      try {
        call(object, static_cast<int>(piece));
      } catch (...) {
        const std::lock_guard lock(error_mutex_);
        if (!error_) error_ = std::current_exception();
      }
      done_.fetch_add(1, std::memory_order_release);
    }
  }

  void serve(const std::stop_token& stop) {
    std::uint32_t seen = 0;
    while (!stop.stop_requested()) {
      for (int i = 0; i < spins && epoch_.load(std::memory_order_acquire) == seen; ++i) pause();
      epoch_.wait(seen, std::memory_order_acquire);
      seen = epoch_.load(std::memory_order_acquire);
      take_pieces();
    }
  }

  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  std::uint64_t generation_ = 0;
  std::atomic<std::uint64_t> ticket_{closed};  // generation, next piece
  std::atomic<std::uint32_t> count_{0}, done_{0}, epoch_{0};
  std::atomic<void (*)(const void*, int)> call_{nullptr};
  std::atomic<const void*> object_{nullptr};
  std::mutex error_mutex_;
  std::exception_ptr error_;
  std::vector<std::jthread> helpers_;  // last: they end before anything that they use
};

}  // namespace diecast::reference
