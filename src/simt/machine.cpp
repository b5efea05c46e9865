#include "machine.hpp"

#include <algorithm>
#include <numeric>

#include "violations.hpp"

namespace diecast::simt {
namespace {

// Kept from launch to launch.
thread_local Stacks stacks;
thread_local SanitizerFibers sanitizer_fibers;

// The body of a lane, for the thread sanitizer.
struct InKernel {
  InKernel(LaneState& lane, RaceSanitizer& of_launch) : sanitizer(of_launch) { sanitizer.enter_kernel(lane.sanitizer_fiber); }
  ~InKernel() { sanitizer.to_executor(); }
  InKernel(const InKernel&) = delete;
  InKernel& operator=(const InKernel&) = delete;
  const RaceSanitizer& sanitizer;
};

}  // namespace

Machine::Machine(Memory::Impl& memory, const Kernel& kernel, int blocks, const void* params, const Options& options)
    : memory_(memory),
      kernel_(kernel),
      params_(params),
      options_(options),
      block_count_(blocks),
      launch_(++memory.launches),
      stamp_(++memory.stamps),
      warps_(kernel.threads / kernels::warp_lanes),
      sanitizer_(sanitizer_fibers, static_cast<std::size_t>((std::max)(blocks, 1)) * static_cast<std::size_t>(kernel.threads)),
      random_{options.seed} {
  if (kernel.shared_bytes > most_shared_bytes)
    throw Fault(FaultKind::wrong_argument, "the kernel wants " + std::to_string(kernel.shared_bytes) +
                                               " bytes of shared memory for a block; the most that a device has is " +
                                               std::to_string(most_shared_bytes));
  if (blocks <= 0) throw Fault(FaultKind::wrong_argument, "a grid has at least one block, not " + std::to_string(blocks));
  // The thread sanitizer takes what follows on the same bytes for the same: blocks that run one after another share nothing then.
  const std::size_t alive = kernel.cooperative || sanitizer_.judges() ? static_cast<std::size_t>(blocks) : 1;
  lane_count_ = alive * static_cast<std::size_t>(kernel.threads);
  stacks.provide(lane_count_, options.stack_bytes);
  lanes_ = std::make_unique<LaneState[]>(lane_count_);
  ready_.resize((lane_count_ + 63) / 64);

  boost::intrusive_ptr<Known> nothing(new Known);
  nothing->epoch.resize(static_cast<std::size_t>(kernel.threads + kernels::warp_lanes));
  nothing->seal();
  nothing_ = nothing;

  const std::size_t shared_bytes = (std::max)(kernel.shared_bytes, std::size_t{16});
  if (memory.shared_bytes < shared_bytes) {
    for (const Address one : memory.shared) memory.release(one);
    memory.shared.clear();
    memory.shared_bytes = shared_bytes;
  }
  while (memory.shared.size() < alive) memory.shared.push_back(memory.allocate(memory.shared_bytes, "shared memory", 1, false));
  for (std::size_t slot = 0; slot < alive; ++slot) {
    auto block = std::make_unique<BlockState>();
    block->slot = static_cast<int>(slot);
    block->lanes = &lanes_[slot * static_cast<std::size_t>(kernel.threads)];
    block->shared = memory.shared[slot];
    Region& region = *memory.find(block->shared);
    region.shared = true;
    region.slot = block->slot;
    region.end = region.begin + kernel.shared_bytes;
    blocks_.push_back(std::move(block));
  }
}

Machine::~Machine() {
  if (alive_ > 0) sanitizer_.abandon();
}

Counters Machine::run() {
  std::vector<int> order(static_cast<std::size_t>(block_count_));
  std::iota(order.begin(), order.end(), 0);
  if (options_.schedule == Schedule::reverse) std::reverse(order.begin(), order.end());
  if (options_.schedule == Schedule::random) std::shuffle(order.begin(), order.end(), random_);
  if (options_.schedule == Schedule::laggard) std::rotate(order.begin(), order.begin() + 1, order.end());

  const Violations watch(stacks);
  if (kernel_.cooperative) {
    for (int i = 0; i < block_count_; ++i) start(*blocks_[static_cast<std::size_t>(i)], i);
    run_until_all_left();
  } else {
    for (const int number : order) {
      start(*blocks_[blocks_.size() > 1 ? static_cast<std::size_t>(number) : 0], number);
      run_until_all_left();
    }
  }
  return std::move(counters_);
}

void Machine::start(BlockState& block, int number) {
  block.number = number;
  block.left = block.at_barrier = 0;
  block.warps.assign(static_cast<std::size_t>(warps_), {});
  block.named = {};
  block.bulk.clear();
  block.copier_epochs = {};
  block.records.clear();
  block.stamp = ++memory_.stamps;
  if (kernel_.shared_bytes > 0) std::fill_n(memory_.state(block.shared), kernel_.shared_bytes, State::unwritten);
  for (int thread = 0; thread < kernel_.threads; ++thread) {
    LaneState& lane = block.lanes[thread];
    lane.block = number;
    lane.blocks = block_count_;
    lane.thread = thread;
    lane.threads = kernel_.threads;
    lane.machine = this;
    lane.index = static_cast<std::uint32_t>(&lane - lanes_.get());
    lane.clock = {1, 0, nothing_, nullptr};
    lane.meeting = nullptr;
    lane.copies.clear();
    lane.group = 0;
    lane.polls = 0;
    lane.steps = 0;
    // Stacks that begin at different places of a page do not fight for the same lines of the cache.
    lane.fiber.start(stacks.bottom(lane.index), stacks.bytes() - lane.index % 32 * 128, &Machine::lane_main, &lane);
    lane.sanitizer_fiber = sanitizer_.lane(lane.index);
    wake(lane);
  }
  alive_ += static_cast<std::size_t>(kernel_.threads);
}

void Machine::lane_main(void* argument) {
  auto& lane = *static_cast<LaneState*>(argument);
  Machine& machine = *lane.machine;
  try {
    {
      const InKernel in_kernel(lane, machine.sanitizer_);
      machine.kernel_.run(lane, machine.params_, reinterpret_cast<void*>(machine.block_of(lane).shared));
    }
    machine.leave(lane);
  } catch (const Stop&) {
  } catch (...) {
    machine.exception_ = std::current_exception();
  }
  lane.fiber.leave_for(machine.scheduler_);
}

// Lanes switch to each other; the scheduler runs again when nobody is ready, or one has failed.
void Machine::run_until_all_left() {
  while (alive_ > 0) {
    LaneState* lane = next();
    if (lane == nullptr) stuck();
    Violations::running = lane;
    scheduler_.switch_to(lane->fiber);
    Violations::running = nullptr;
    if (exception_) std::rethrow_exception(exception_);
    if (fault_) throw *fault_;
  }
}

bool Machine::lags(const LaneState& lane) const {
  const auto warp = lane.index / 32;
  if (warp != options_.seed / 2 % (lane_count_ / 32)) return false;
  return options_.seed % 2 == 0 || lane.index % 32 == options_.seed / 2 % 32;
}

// The ready lane that the schedule prefers; null where nobody is ready.
LaneState* Machine::next() {
  const std::size_t words = ready_.size();
  const auto lane_at = [&](std::size_t word, int bit) { return &lanes_[64 * word + static_cast<std::size_t>(bit)]; };
  switch (options_.schedule) {
    case Schedule::forward:
      for (std::size_t word = 0; word < words; ++word)
        if (ready_[word] != 0) return lane_at(word, __builtin_ctzll(ready_[word]));
      return nullptr;
    case Schedule::reverse:
      for (std::size_t word = words; word-- > 0;)
        if (ready_[word] != 0) return lane_at(word, 63 - __builtin_clzll(ready_[word]));
      return nullptr;
    case Schedule::random: {
      const std::size_t from = random_() % words;
      for (std::size_t i = 0; i < words; ++i) {
        const std::size_t word = (from + i) % words;
        if (ready_[word] == 0) continue;
        const std::uint64_t above = ready_[word] & (~std::uint64_t{0} << (random_() % 64));
        return lane_at(word, __builtin_ctzll(above != 0 ? above : ready_[word]));
      }
      return nullptr;
    }
    case Schedule::laggard: {
      LaneState* last = nullptr;
      for (std::size_t word = 0; word < words; ++word)
        for (std::uint64_t left = ready_[word]; left != 0; left &= left - 1) {
          LaneState* lane = lane_at(word, __builtin_ctzll(left));
          if (!lags(*lane)) return lane;
          last = lane;
        }
      return last;
    }
  }
  return nullptr;
}

void Machine::suspend(LaneState& lane, Status status) {
  lane.steps = 0;
  lane.status = status;
  if (status != Status::ready) ready_[lane.index / 64] &= ~(std::uint64_t{1} << lane.index % 64);
  LaneState* other = next();
  if (other == &lane) return;
  Violations::running = other;
  lane.fiber.switch_to(other != nullptr ? other->fiber : scheduler_);
}

void Machine::wake(LaneState& lane) {
  lane.status = Status::ready;
  ready_[lane.index / 64] |= std::uint64_t{1} << lane.index % 64;
}

// Whoever did a meeting's work runs on; hostile schedules let others go first.
void Machine::maybe_yield(LaneState& lane) {
  if ((options_.schedule == Schedule::random && (random_() & 1u) != 0) || (options_.schedule == Schedule::laggard && lags(lane)))
    suspend(lane, Status::ready);
}

void Machine::leave(LaneState& lane) {
  if (!lane.copies.empty())
    fail(lane, FaultKind::copy_not_awaited, lane.copies.front().place,
         "ends before " + std::to_string(lane.copies.size()) + " of its asynchronous copies were waited for; the first was started");
  BlockState& block = block_of(lane);
  WarpState& warp = block.warps[static_cast<std::size_t>(lane.thread / 32)];
  warp.gone |= 1u << lane.thread % 32;
  if (++block.left == kernel_.threads) check_bulk_awaited(lane);
  --alive_;
  for (std::uint32_t left = warp.waiting; left != 0; left &= left - 1) {
    LaneState& other = lane_of_warp(lane, __builtin_ctz(left));
    if ((other.mask >> lane.thread % 32 & 1u) != 0)
      fail(other, FaultKind::divergent, other.place,
           "waits in " + std::string(other.meeting) + " for lanes of its warp among which thread " + std::to_string(lane.thread) +
               " has left the kernel;");
  }
  if (block.at_barrier > 0)
    for (int thread = 0; thread < kernel_.threads; ++thread)
      if (LaneState& other = block.lanes[thread]; other.status == Status::barrier)
        fail(other, FaultKind::barrier_not_reached, other.place,
             "waits at a barrier which thread " + std::to_string(lane.thread) +
                 " never reaches, since it has left the kernel; the barrier is");
  if (warp.gone == kernels::all_lanes) flush_requests(block, lane.thread / 32);
  counters_.dots += lane.take_dots();
  suspend(lane, Status::left);
}

Counters launch(Memory& memory, const Kernel& kernel, int blocks, const void* params, const Options& options) {
  return Machine(memory.impl(), kernel, blocks, params, options).run();
}

// The functions that a context calls.
Call::Call(Lane& caller) : lane(static_cast<LaneState&>(caller)), machine(*lane.machine) { machine.sanitizer().to_executor(); }
Call::~Call() { machine.sanitizer().to_kernel(lane.sanitizer_fiber); }

std::byte* Lane::access(const void* base, std::int64_t index, std::size_t unit, std::size_t bytes, Access how, const Place& at) {
  const Call call(*this);
  return call.machine.access(call.lane, base, index, unit, bytes, how, at);
}
void Lane::check_extent(std::int64_t index, std::int64_t extent, const Place& at) {
  if (index >= 0 && index < extent) return;
  const Call call(*this);
  call.machine.fail(call.lane, FaultKind::out_of_bounds, at,
                    "takes element " + std::to_string(index) + " of an array of " + std::to_string(extent));
}
void Lane::prefetch(const void* base, std::int64_t index, std::size_t unit, const Place& at) {
  const Call call(*this);
  call.machine.prefetch(call.lane, base, index, unit, at);
}
void Lane::copy_async(void* to, std::int64_t index, const void* from, std::int64_t from_index, std::size_t bytes, bool valid,
                      const Place& at) {
  const Call call(*this);
  call.machine.copy_async(call.lane, to, index, from, from_index, bytes, valid, at);
}
void Lane::commit_copies() { ++static_cast<LaneState&>(*this).group; }
void Lane::wait_copies(int groups) {
  const Call call(*this);
  const auto staying = static_cast<std::uint64_t>(groups);
  if (call.lane.group > staying) call.machine.land_copies(call.lane, call.lane.group - staying);
}
void Lane::barrier(const Place& at) {
  const Call call(*this);
  call.machine.barrier(call.lane, at);
}
void Lane::named_barrier(int id, int threads_expected, bool waits, const Place& at) {
  const Call call(*this);
  call.machine.named_barrier(call.lane, id, threads_expected, waits, at);
}
void Lane::sync_warp(std::uint32_t lanes, const Place& at) {
  const Call call(*this);
  call.machine.sync_warp(call.lane, lanes, at);
}
void Lane::meet(const Meeting& meeting, std::uint32_t lanes, void* data, const Place& at) {
  const Call call(*this);
  call.machine.meet(call.lane, meeting, lanes, data, at);
}
void Lane::check_source(int lane, std::uint32_t lanes, const char* name, const Place& at) {
  const Call call(*this);
  call.machine.check_source(call.lane, lane, lanes, name, at);
}
std::uint64_t Lane::update(Update what, const void* base, std::int64_t index, std::size_t bytes, std::uint64_t value,
                           std::uint64_t expected, kernels::Order order, const Place& at) {
  const Call call(*this);
  return call.machine.update(call.lane, what, base, index, bytes, value, expected, order, at);
}
void Lane::wait_at_least(const std::uint32_t* flag, std::int64_t index, std::uint32_t target, const Place& at) {
  const Call call(*this);
  call.machine.wait_at_least(call.lane, flag, index, target, at);
}

}  // namespace diecast::simt
