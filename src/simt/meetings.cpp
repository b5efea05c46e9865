// Where lanes meet: warp operations, barriers, waits for flags.
#include <cstdio>
#include <cstring>
#include <utility>

#include "machine.hpp"

namespace diecast::simt {
namespace {

bool same(const Place& a, const Place& b) {
  return a.line() == b.line() && a.column() == b.column() &&
         (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}
std::string hexadecimal(std::uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", value);
  return text;
}

}  // namespace

// A meeting is a mask, an operation and a place. Lanes of one warp may wait in different meetings as long as none of them waits for each
// other: half of a warp may shuffle among itself while the rest already waits for all.
bool Machine::come(LaneState& lane, const char* name, std::uint32_t mask, void* data, const Place& at) {
  BlockState& block = block_of(lane);
  WarpState& warp = block.warps[static_cast<std::size_t>(lane.thread / 32)];
  const int own = lane.thread % 32;
  lane.meeting = name;
  lane.mask = mask;
  lane.data = data;
  lane.place = at;
  const auto says = [&](const std::string& what) {
    fail(lane, FaultKind::divergent, at, "takes part in " + std::string(name) + " with the mask " + hexadecimal(mask) + ", " + what);
  };
  if ((mask >> own & 1u) == 0) says("which lacks its own lane " + std::to_string(own) + ",");
  if (const std::uint32_t gone = warp.gone & mask; gone != 0)
    says("but its lane " + std::to_string(__builtin_ctz(gone)) + " has left the kernel,");

  const auto same_meeting = [&](const LaneState& other) {
    return other.mask == mask && same(other.place, at) && (other.meeting == name || std::strcmp(other.meeting, name) == 0);
  };
  std::uint32_t here = 1u << own;
  if (warp.waiting == 0) {
    warp.one_meeting = true;
    warp.first = own;
  } else if (warp.one_meeting && same_meeting(lane_of_warp(lane, warp.first))) {
    here |= warp.waiting;
  } else {
    warp.one_meeting = false;
    for (std::uint32_t left = warp.waiting; left != 0; left &= left - 1) {
      const int number = __builtin_ctz(left);
      const LaneState& other = lane_of_warp(lane, number);
      if (same_meeting(other))
        here |= 1u << number;
      else if ((mask >> number & 1u) != 0 && (other.mask >> own & 1u) != 0)  // each waits for the other, and for something else
        says("but thread " + std::to_string(other.thread) + " of its warp waits in " + other.meeting +
             (same(other.place, at) ? "" : " at another place (" + short_place(other.place) + ")") + " with the mask " +
             hexadecimal(other.mask) + ";");
    }
  }
  if (here != mask) {
    warp.waiting |= 1u << own;
    suspend(lane, Status::meeting);
    return false;
  }
  warp.waiting &= ~mask;
  if (mask == kernels::all_lanes) flush_requests(block, lane.thread / 32);
  return true;
}

void Machine::wake_met(LaneState& last, std::uint32_t mask) {
  for (std::uint32_t left = mask & ~(1u << last.thread % 32); left != 0; left &= left - 1) wake(lane_of_warp(last, __builtin_ctz(left)));
}

void Machine::meet(LaneState& lane, const Meeting& meeting, std::uint32_t mask, void* data, const Place& at) {
  if (!come(lane, meeting.name, mask, data, at)) return;
  void* of_lane[32] = {};
  for (std::uint32_t left = mask; left != 0; left &= left - 1) of_lane[__builtin_ctz(left)] = lane_of_warp(lane, __builtin_ctz(left)).data;
  meeting.complete(of_lane, mask);
  switch (meeting.kind) {
    case Meeting::Kind::exchange:
      ++counters_.exchanges;
      break;
    case Meeting::Kind::matrix_product:
      ++counters_.matrix_products;
      break;
    case Meeting::Kind::matrix_load:
      ++counters_.matrix_loads;
      break;
  }
  wake_met(lane, mask);
  maybe_yield(lane);
}

void Machine::check_source(LaneState& lane, int from, std::uint32_t lanes, const char* name, const Place& at) {
  if ((lanes >> from & 1u) == 0)
    fail(lane, FaultKind::divergent, at,
         "reads lane " + std::to_string(from) + " in " + name + ", which does not take part (the mask is " + hexadecimal(lanes) + "),");
}

void Machine::sync_warp(LaneState& lane, std::uint32_t mask, const Place& at) {
  if (!come(lane, "sync_warp", mask, nullptr, at)) return;
  ++counters_.warp_barriers;
  sanitizer_.meet([&](auto each) {
    for (std::uint32_t left = mask; left != 0; left &= left - 1) each(lane_of_warp(lane, __builtin_ctz(left)).sanitizer_fiber);
  });
  if (options_.races) {
    Gathering gathering;
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
      const LaneState& other = lane_of_warp(lane, __builtin_ctz(left));
      gathering.add(other.clock, other.thread);
    }
    const Clock after = gathering.close(++versions_);
    for (std::uint32_t left = mask; left != 0; left &= left - 1) lane_of_warp(lane, __builtin_ctz(left)).clock = after;
  }
  wake_met(lane, mask);
  maybe_yield(lane);
}

void Machine::barrier(LaneState& lane, const Place& at) {
  BlockState& block = block_of(lane);
  if (block.left > 0)
    for (int thread = 0; thread < kernel_.threads; ++thread)
      if (block.lanes[thread].status == Status::left)
        fail(lane, FaultKind::barrier_not_reached, at,
             "waits at a barrier which thread " + std::to_string(thread) + " never reaches, since it has left the kernel; the barrier is");
  if (block.at_barrier > 0)
    for (int thread = 0; thread < kernel_.threads; ++thread)
      if (const LaneState& other = block.lanes[thread]; other.status == Status::barrier) {
        if (!same(other.place, at))
          fail(lane, FaultKind::barrier_not_reached, at,
               "comes to a barrier, but thread " + std::to_string(thread) + " waits at another one (" + short_place(other.place) +
                   "); all threads of a block must come to the same,");
        break;  // those who wait are at one place
      }
  lane.place = at;
  if (++block.at_barrier < kernel_.threads) {
    suspend(lane, Status::barrier);
    return;
  }
  block.at_barrier = 0;
  ++counters_.barriers;
  if (options_.count)
    for (int warp = 0; warp < warps_; ++warp) flush_requests(block, warp);
  sanitizer_.meet([&](auto each) {
    for (int thread = 0; thread < kernel_.threads; ++thread) each(block.lanes[thread].sanitizer_fiber);
  });
  if (options_.races) {
    Gathering gathering;
    for (int thread = 0; thread < kernel_.threads; ++thread) gathering.add(block.lanes[thread].clock, thread);
    const Clock after = gathering.close(++versions_);
    for (int thread = 0; thread < kernel_.threads; ++thread) block.lanes[thread].clock = after;
  }
  for (int thread = 0; thread < kernel_.threads; ++thread)
    if (&block.lanes[thread] != &lane) wake(block.lanes[thread]);
  maybe_yield(lane);
}

void Machine::named_barrier(LaneState& lane, int id, int threads, bool waits, const Place& at) {
  if (id < 1 || id > 15)
    fail(lane, FaultKind::wrong_argument, at, "names the barrier " + std::to_string(id) + ", but there are those from 1 to 15");
  if (threads <= 0 || threads % 32 != 0 || threads > kernel_.threads)
    fail(lane, FaultKind::wrong_argument, at,
         "asks a named barrier for " + std::to_string(threads) + " threads; it takes whole warps, and the block has " +
             std::to_string(kernel_.threads) + " threads");
  struct Wanted {
    int id, threads;
  } wanted{id, threads};
  if (!come(lane, waits ? "named_barrier" : "named_arrive", kernels::all_lanes, &wanted, at)) return;

  BlockState& block = block_of(lane);
  for (int number = 0; number < 32; ++number) {
    const LaneState& other = lane_of_warp(lane, number);
    const auto& theirs = *static_cast<const Wanted*>(other.data);
    if (theirs.id != id || theirs.threads != threads)
      fail(lane, FaultKind::divergent, at,
           "names barrier " + std::to_string(id) + " for " + std::to_string(threads) + " threads, but thread " +
               std::to_string(other.thread) + " of its warp names " + std::to_string(theirs.id) + " for " + std::to_string(theirs.threads));
  }
  NamedBarrier& named = block.named[static_cast<std::size_t>(id)];
  const std::uint32_t bit = 1u << lane.thread / 32;
  if ((named.warps & bit) != 0)
    fail(lane, FaultKind::named_barrier, at,
         "comes to named barrier " + std::to_string(id) + " once more before the last round is complete: " + std::to_string(named.came) +
             " of " + std::to_string(named.threads) + " threads came;");
  if (named.came > 0 && named.threads != threads)
    fail(lane, FaultKind::named_barrier, at,
         "expects " + std::to_string(threads) + " threads at named barrier " + std::to_string(id) + ", but those who came before expect " +
             std::to_string(named.threads) + ";");
  named.threads = threads;
  named.came += 32;
  named.warps |= bit;
  for (int number = 0; number < 32; ++number) {
    LaneState& other = lane_of_warp(lane, number);
    if (options_.races) {
      named.gathering.add(other.clock, other.thread);
      if (!waits) ++other.clock.epoch;  // what it does from here on is not ordered by this barrier
    }
    sanitizer_.release(other.sanitizer_fiber, named.order);
    if (waits) named.waiting.push_back(&other);
  }
  if (named.came < named.threads) {
    if (!waits) {
      wake_met(lane, kernels::all_lanes);
      maybe_yield(lane);
      return;
    }
    for (int number = 0; number < 32; ++number)
      if (LaneState& other = lane_of_warp(lane, number); &other != &lane) other.status = Status::named_barrier;
    suspend(lane, Status::named_barrier);
    return;
  }
  ++counters_.named_barriers;
  {
    NamedBarrier last = std::exchange(named, {});
    const Clock after = options_.races ? last.gathering.close(++versions_) : Clock{};
    for (LaneState* other : last.waiting) {
      sanitizer_.acquire(other->sanitizer_fiber, last.order);
      if (options_.races) other->clock = after;
      if (other != &lane) wake(*other);
    }
  }
  if (!waits) wake_met(lane, kernels::all_lanes);
  maybe_yield(lane);
}

void Machine::wait_at_least(LaneState& lane, const void* base, std::int64_t index, std::uint32_t target_value, const Place& at) {
  for (;;) {
    lane.polls = 0;  // this wait sleeps by itself: it is no loop of plain polls, however often a kernel waits
    const auto now = static_cast<std::uint32_t>(update(lane, Update::load, base, index, 4, 0, 0, kernels::Order::acquire, at));
    if (static_cast<std::int32_t>(now - target_value) >= 0) return;
    lane.place = at;
    lane.flag = target(lane, base, index, 4, 4, "waits for", at).address;
    lane.target = target_value;
    waiting_.push_back(&lane);
    suspend(lane, Status::flag);
  }
}

void Machine::flush_requests(BlockState& block, int warp) {
  if (!options_.count) return;
  std::vector<std::vector<Request>*> of_lane;
  for (int number = 0; number < 32; ++number) of_lane.push_back(&block.lanes[32 * warp + number].requests);
  count_requests(of_lane, counters_);
}

}  // namespace diecast::simt
