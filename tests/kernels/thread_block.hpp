// Runs device code on the host, one std::thread for each thread of a block, one block after another: enough to prove a kernel's
// arithmetic and indices on small shapes, and its barriers under ThreadSanitizer. The executor that watches guard zones, tries
// several schedules and names divergent barriers and deadlocks is a part of its own (simt/).
#pragma once

#include <barrier>
#include <cmath>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include <diecast/kernels/context.hpp>

namespace diecast_test {

class ThreadBlock {
 public:
  explicit ThreadBlock(int threads) : all_(threads), values_(static_cast<std::size_t>(threads)) {
    for (int warp = 0; warp < threads / diecast::kernels::warp_lanes; ++warp) warps_.emplace_back(diecast::kernels::warp_lanes);
  }

  class Context {
   public:
    Context(ThreadBlock& owner, int block, int thread) : owner_(owner), block_(block), thread_(thread) {}
    int block() const { return block_; }
    int thread() const { return thread_; }
    template <class T>
    T load(const T* from, std::int64_t index) const {
      return from[index];
    }
    template <class T>
    void store(T* to, std::int64_t index, T value) const {
      to[index] = value;
    }
    void barrier() { owner_.all_.arrive_and_wait(); }
    float shuffle_xor(float value, int lane_mask) {
      std::barrier<>& warp = owner_.warps_[static_cast<std::size_t>(thread_ / diecast::kernels::warp_lanes)];
      owner_.values_[static_cast<std::size_t>(thread_)] = value;
      warp.arrive_and_wait();
      const float other = owner_.values_[static_cast<std::size_t>(thread_ ^ lane_mask)];
      warp.arrive_and_wait();
      return other;
    }
    float fma(float a, float b, float c) const { return std::fma(a, b, c); }
    float sqrt(float x) const { return std::sqrt(x); }

   private:
    ThreadBlock& owner_;
    int block_;
    int thread_;
  };

 private:
  std::barrier<> all_;
  std::deque<std::barrier<>> warps_;
  std::vector<float> values_;  // what each thread offers to its warp
};

template <class Op>
void launch(int blocks, const typename Op::Params& params) {
  static_assert(diecast::kernels::ExecutionContext<ThreadBlock::Context>);
  ThreadBlock block(Op::threads);
  typename Op::Shared shared;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < Op::threads; ++thread)
    threads.emplace_back([&, thread] {
      for (int number = 0; number < blocks; ++number) {
        ThreadBlock::Context ctx(block, number, thread);
        Op::run(ctx, params, shared);
        ctx.barrier();  // a block's shared memory is the next block's
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace diecast_test
