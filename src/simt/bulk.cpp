// Bulk copies, and the barriers at which they arrive. A phase's copies land as late as they may: when all of them have been started and somebody waits.
#include <algorithm>
#include <cstring>
#include <utility>

#include "machine.hpp"

namespace diecast::simt {
namespace {

constexpr std::size_t piece = 16;  // bytes

}  // namespace

void Machine::init_bulk(LaneState& lane, void* base, std::int64_t index, int copies, const Place& at) {
  const Target where = target(lane, base, index, 8, 8, "makes a barrier for bulk copies at", at);
  if (!where.region->shared || copies < 1)
    fail(lane, FaultKind::wrong_argument, at,
         "makes a barrier for " + std::to_string(copies) + " bulk copies at " + element(*where.region, where.address) +
             "; it takes one copy or more, and shared memory");
  check_race(lane, where, 8, Touch::write, at);
  sanitizer_.write(lane.sanitizer_fiber, memory_.bytes(where.address), 8);
  std::fill_n(memory_.state(where.address), 8, State::written);
  auto& barriers = block_of(lane).bulk;
  const auto copier = static_cast<int>(barriers.size() % kernels::warp_lanes);
  barriers[where.address] = {.copies = copies, .copier = copier};
}

Machine::BulkTarget Machine::bulk_target(LaneState& lane, void* base, std::int64_t index, const char* verb, const Place& at) {
  const Target where = target(lane, base, index, 8, 8, verb, at);
  auto& barriers = block_of(lane).bulk;
  const auto found = barriers.find(where.address);
  if (found == barriers.end())
    fail(lane, FaultKind::unwritten, at,
         std::string(verb) + " " + element(*where.region, where.address) + ", which nobody has made a barrier for bulk copies");
  check_race(lane, where, 8, Touch::atomic_update, at);
  sanitizer_.update(lane.sanitizer_fiber, Update::add, memory_.bytes(where.address), 8, 0, kernels::Order::relaxed);
  return {where.address, found->second};
}

void Machine::start_bulk(LaneState& lane, void* to, std::int64_t index, const void* from, std::int64_t from_index, std::size_t unit,
                         int count, void* barrier, std::int64_t barrier_index, const Place& at) {
  const auto bytes = static_cast<std::int64_t>(unit) * count;
  if (count < 1 || bytes % static_cast<std::int64_t>(piece) != 0)
    fail(lane, FaultKind::wrong_argument, at, "copies " + std::to_string(bytes) + " bytes in bulk, which takes whole pieces of 16");
  const BulkTarget arrives = bulk_target(lane, barrier, barrier_index, "starts a bulk copy that arrives at", at);
  if (static_cast<int>(arrives.barrier.started.size()) == arrives.barrier.copies)
    fail(lane, FaultKind::in_flight, at,
         "starts a bulk copy of the next phase before anybody has waited for the last one's " + std::to_string(arrives.barrier.copies) +
             ",");
  // It reads and writes at any time until it has landed: only who waits at its barrier comes after it.
  Copier copier{arrives.barrier.copier, {}};
  OthersPtr told;
  if (options_.races) {
    copier.clock.epoch = ++block_of(lane).copier_epochs[static_cast<std::size_t>(copier.number)];
    told = tell(lane, &copier);
    copier.clock.version = ++versions_;
    copier.clock.own = *told->of(static_cast<std::uint32_t>(lane.block));
    copier.clock.others = told;
  }
  BulkCopy copy{0, 0, std::vector<std::byte>(static_cast<std::size_t>(bytes)), at};
  const auto first_to = index * static_cast<std::int64_t>(unit), first_from = from_index * static_cast<std::int64_t>(unit);
  for (std::int64_t done = 0; done < bytes; done += static_cast<std::int64_t>(piece)) {
    const Target goal = target(lane, to, first_to + done, 1, piece, "copies to", at),
                 source = target(lane, from, first_from + done, 1, piece, "copies from", at);
    if (!goal.region->shared || source.region->shared)
      fail(lane, FaultKind::wrong_argument, at,
           "copies from " + element(*source.region, source.address) + " to " + element(*goal.region, goal.address) +
               " in bulk, which goes from global to shared memory");
    if (done == 0) {
      copy.to = goal.address;
      copy.from = source.address;
    }
    State *of_goal = memory_.state(goal.address), *of_source = memory_.state(source.address);
    for (std::size_t i = 0; i < piece; ++i) {
      if (of_source[i] != State::written)
        fail(lane, FaultKind::unwritten, at, "copies " + element(*source.region, source.address + i) + ", which nobody has written yet,");
      if (of_goal[i] == State::in_flight)
        fail(lane, FaultKind::in_flight, at,
             "copies to " + element(*goal.region, goal.address) + " while another asynchronous copy still writes there");
      of_goal[i] = State::in_flight;
    }
    check_race(lane, source, piece, Touch::read, at, &copier);
    check_race(lane, goal, piece, Touch::write, at, &copier);
    std::memcpy(copy.seen.data() + done, memory_.bytes(source.address), piece);
  }
  ++counters_.bulk_copies;
  if (options_.count) {
    Traffic& traffic = counters_.buffers[memory_.find(copy.from)->name].read;
    ++traffic.requests;
    traffic.bytes += copy.seen.size();
    traffic.sectors += (copy.from + copy.seen.size() + 31) / 32 - copy.from / 32;
  }
  sanitizer_.copy(lane.index, memory_.bytes(copy.from), memory_.bytes(copy.to), copy.seen.size(), copy.landed);
  arrives.barrier.started.push_back(std::move(copy));
  if (options_.races) arrives.barrier.told = later(arrives.barrier.told, told);
  if (static_cast<int>(arrives.barrier.started.size()) == arrives.barrier.copies) {
    for (LaneState* other : arrives.barrier.waiting) wake(*other);
    arrives.barrier.waiting.clear();
  }
}

void Machine::copy_bulk(LaneState& lane, void* to, std::int64_t index, const void* from, std::int64_t from_index, std::size_t unit,
                        int count, void* barrier, std::int64_t barrier_index, const Place& at) {
  start_bulk(lane, to, index, from, from_index, unit, count, barrier, barrier_index, at);
  maybe_yield(lane);
}

void Machine::wait_bulk(LaneState& lane, void* base, std::int64_t index, std::uint32_t phase, const Place& at) {
  for (;;) {
    const BulkTarget where = bulk_target(lane, base, index, "waits for bulk copies at", at);
    BulkBarrier& barrier = where.barrier;
    const bool present = ((barrier.phase ^ phase) & 1u) == 0;  // the device looks at the parity alone
    if (present && static_cast<int>(barrier.started.size()) < barrier.copies) {
      lane.place = at;
      lane.flag = where.address;
      barrier.waiting.push_back(&lane);
      suspend(lane, Status::bulk);
      continue;
    }
    if (present) land_bulk(lane, barrier);
    if (options_.races) learn(lane, barrier.told_before);
    for (const SanitizerOrder& one : barrier.landed) sanitizer_.acquire(lane.sanitizer_fiber, one);
    return;
  }
}

void Machine::land_bulk(LaneState& lane, BulkBarrier& barrier) {
  barrier.landed.clear();
  for (BulkCopy& copy : barrier.started) {
    if (std::memcmp(memory_.bytes(copy.from), copy.seen.data(), copy.seen.size()) != 0)
      fail(lane, FaultKind::race, copy.place,
           "waits for a bulk copy from " + element(*memory_.find(copy.from), copy.from) +
               " on, which was changed before the copy had landed; it was started");
    std::memcpy(memory_.bytes(copy.to), copy.seen.data(), copy.seen.size());
    std::fill_n(memory_.state(copy.to), copy.seen.size(), State::written);
    barrier.landed.push_back(std::move(copy.landed));
  }
  barrier.started.clear();
  barrier.told_before = std::move(barrier.told);
  ++barrier.phase;
}

void Machine::check_bulk_awaited(LaneState& lane) {
  for (const auto& [address, barrier] : block_of(lane).bulk)
    if (!barrier.started.empty())
      fail(lane, FaultKind::copy_not_awaited, barrier.started.front().place,
           "is the last of its block to end, and nobody has waited for a bulk copy; it was started");
}

void Lane::init_bulk(void* barrier, std::int64_t index, int copies, const Place& at) {
  const Call call(*this);
  call.machine.init_bulk(call.lane, barrier, index, copies, at);
}
void Lane::copy_bulk(void* to, std::int64_t index, const void* from, std::int64_t from_index, std::size_t unit, int count, void* barrier,
                     std::int64_t barrier_index, const Place& at) {
  const Call call(*this);
  call.machine.copy_bulk(call.lane, to, index, from, from_index, unit, count, barrier, barrier_index, at);
}
void Lane::wait_bulk(void* barrier, std::int64_t index, std::uint32_t phase, const Place& at) {
  const Call call(*this);
  call.machine.wait_bulk(call.lane, barrier, index, phase, at);
}

}  // namespace diecast::simt
