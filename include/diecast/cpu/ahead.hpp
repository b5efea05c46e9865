// What a thread reads next. A token's weights are read once, in an order that is known: so memory is asked for them some kilobytes ahead,
// across the ends of matrices and while threads wait for each other.
#pragma once

#include <cstddef>
#include <span>

#include <diecast/cpu/lanes.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::cpu::inline DIECAST_ISA {

struct Segment {
  const std::byte* begin{};
  std::size_t bytes{};  // a multiple of 64
};

class Ahead {
 public:
  static constexpr std::size_t distance = 24 * 1024;  // bytes: enough to hide the memory's latency, little enough to stay in the second cache

  Ahead() = default;  // asks for nothing
  // All that a thread reads for one token, in order; it reads it again for the next.
  explicit Ahead(std::span<const Segment> order) : order_(order) { rewind(); }

  // The next thing to be read is the order's beginning again.
  void rewind() {
    if (order_.empty()) return;
    at_ = owed_ = 0;
    enter();
    advance(distance);
  }
  // `bytes` more of the order are being read.
  void advance(std::size_t bytes) {
    if (order_.empty()) return;
    for (owed_ += bytes; owed_ >= 64; owed_ -= 64) {
      if (next_ == end_) {
        at_ = at_ + 1 == order_.size() ? 0 : at_ + 1;
        enter();
      }
      prefetch(next_);
      next_ += 64;
    }
  }

 private:
  void enter() {
    next_ = order_[at_].begin;
    end_ = next_ + order_[at_].bytes;
  }

  std::span<const Segment> order_;
  std::size_t at_ = 0, owed_ = 0;
  const std::byte* next_ = nullptr;
  const std::byte* end_ = nullptr;
};

}  // namespace diecast::cpu::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
