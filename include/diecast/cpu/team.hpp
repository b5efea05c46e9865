// Threads that run one function together and meet in it: a forward pass is one call, and its phases end at a barrier that costs less than
// a microsecond. They spin briefly, then sleep: an idle engine uses no CPU.
#pragma once

#include <atomic>
#include <cstdint>
#include <stop_token>
#include <thread>
#include <vector>

namespace diecast::cpu {

class Team {
 public:
  explicit Team(int threads) : threads_(threads) {
    for (int i = 1; i < threads; ++i) helpers_.emplace_back([this, i](std::stop_token stop) { serve(stop, i); });
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() {
    for (auto& helper : helpers_) helper.request_stop();
    call_.fetch_add(1, std::memory_order_release);
    call_.notify_all();
  }

  int size() const { return threads_; }

  // Calls work(thread) once on every thread, this one being 0; returns when all have come back. work must not throw.
  template <class Work>
  void run(const Work& work) {
    if (threads_ > 1) {
      object_ = &work;
      function_ = [](const void* object, int thread) { (*static_cast<const Work*>(object))(thread); };
      call_.fetch_add(1, std::memory_order_release);
      call_.notify_all();
    }
    work(0);
    meet();
  }

  // Every thread of a run calls this equally often.
  void meet() {
    if (threads_ == 1) return;
    const std::uint32_t round = round_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(threads_)) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      round_.notify_all();
      return;
    }
    for (int i = 0; i < spins && round_.load(std::memory_order_acquire) == round; ++i) pause();
    round_.wait(round, std::memory_order_acquire);  // a thread that we wait for may need this core
  }

 private:
  static constexpr int spins = 4000;        // some 100 microseconds: longer than the phases of a small model's token differ
  static constexpr int idle_spins = 10000;  // longer than the sampling between two tokens

  void serve(const std::stop_token& stop, int thread) {
    std::uint32_t seen = 0;
    while (true) {
      for (int i = 0; i < idle_spins && call_.load(std::memory_order_acquire) == seen; ++i) pause();
      call_.wait(seen, std::memory_order_acquire);
      seen = call_.load(std::memory_order_acquire);
      if (stop.stop_requested()) return;
      function_(object_, thread);
      meet();
    }
  }

  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  int threads_;
  const void* object_ = nullptr;
  void (*function_)(const void*, int) = nullptr;
  alignas(64) std::atomic<std::uint32_t> call_{0};
  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> round_{0};
  std::vector<std::jthread> helpers_;  // last: they end before anything that they use
};

}  // namespace diecast::cpu
