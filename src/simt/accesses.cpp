// Every access to memory is checked here, before a byte moves.
#include <algorithm>
#include <cstring>

#include "machine.hpp"

namespace diecast::simt {

using kernels::Order;

namespace {
constexpr std::uint64_t most_steps = std::uint64_t{1} << 25;
}

Machine::Target Machine::target(LaneState& lane, const void* base, std::int64_t index, std::size_t unit, std::size_t bytes,
                                const char* verb, const Place& at) {
  const auto from = reinterpret_cast<Address>(base);
  Region* region = memory_.find(from);
  if (region == nullptr || region->begin == 0)
    fail(lane, FaultKind::out_of_bounds, at,
         std::string(verb) + " " + std::to_string(bytes) +
             " bytes through a pointer that does not point into any buffer of the device (a host pointer, a local array, or far off)");
  std::int64_t offset = 0;
  if (__builtin_mul_overflow(index, static_cast<std::int64_t>(unit), &offset))
    fail(lane, FaultKind::out_of_bounds, at, std::string(verb) + " " + region->name + " at the impossible index " + std::to_string(index));
  const Address address = from + static_cast<Address>(offset);
  if (address < region->begin || address + bytes > region->end || address + bytes < address) {
    const auto distance = static_cast<std::int64_t>(address - region->begin);
    const auto element_bytes = static_cast<std::int64_t>(region->element);
    const std::int64_t number = distance >= 0 ? distance / element_bytes : -((-distance + element_bytes - 1) / element_bytes);
    fail(lane, FaultKind::out_of_bounds, at,
         std::string(verb) + " " + std::to_string(bytes) + " bytes at " + region->name + "[" + std::to_string(number) + "], but " +
             region->name + " has " + std::to_string((region->end - region->begin) / region->element) + " elements" +
             (index < 0 || number < -(std::int64_t{1} << 24) ? " (a negative index: did a 32-bit product overflow?)" : ""));
  }
  if (address % bytes != 0)
    fail(lane, FaultKind::misaligned, at,
         std::string(verb) + " " + std::to_string(bytes) + " bytes at " + element(*region, address) + ", whose address is " +
             std::to_string(address % bytes) + " more than a multiple of " + std::to_string(bytes));
  // Shared memory of another block is out of reach.
  if (region->shared && region->slot != block_of(lane).slot)
    fail(lane, FaultKind::out_of_bounds, at, std::string(verb) + " the shared memory of another block");
  return {address, region};
}

Records& Machine::records_of(const Region& region) {
  return region.shared ? blocks_[static_cast<std::size_t>(region.slot)]->records : records_;
}

void Machine::check_race(LaneState& lane, const Target& where, std::size_t bytes, Touch how, const Place& at, const Copier* copier) {
  if (!options_.races || where.region->constant) return;
  const BlockState& block = block_of(lane);
  const int warp = copier != nullptr ? warps_ : lane.thread / 32, number = copier != nullptr ? copier->number : lane.thread % 32;
  const Toucher who{static_cast<std::uint32_t>(lane.block), static_cast<std::uint32_t>(lane.block * (warps_ + 1) + warp),
                    static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(warps_ + 1),
                    copier != nullptr ? &copier->clock : &lane.clock};
  const auto other =
      touch(memory_, records_of(*where.region), where.region->shared ? block.stamp : stamp_, where.address, bytes, how, who, at);
  if (other) fail_race(lane, *where.region, where.address, how, at, *other);
  if (how != Touch::write && how != Touch::atomic_update) return;
  for (const Copy& copy : lane.copies)
    if (copy.valid && where.address < copy.from + copy.bytes && copy.from < where.address + bytes)
      fail(lane, FaultKind::race, at,
           "changes " + element(*where.region, where.address) +
               ", from which its own asynchronous copy may still read (it was started at " + short_place(copy.place) + "),");
}

std::byte* Machine::access(LaneState& lane, const void* base, std::int64_t index, std::size_t unit, std::size_t bytes, Access how,
                           const Place& at) {
  const bool stores = how == Access::store;
  // A plain load in a loop that waits for somebody else never lets him run.
  if (++lane.steps > most_steps)
    fail(lane, FaultKind::deadlock, at,
         "has made " + std::to_string(most_steps) + " accesses without meeting anybody: does it wait for a plain store? It is");
  const Target where = target(lane, base, index, unit, bytes, stores ? "stores" : "loads", at);
  Region& region = *where.region;
  State* state = memory_.state(where.address);
  if (stores) {
    if (region.constant) fail(lane, FaultKind::read_only, at, "stores to " + element(region, where.address) + ", which is constant");
    if (region.read_as_constant == launch_)
      fail(lane, FaultKind::read_only, at,
           "stores to " + element(region, where.address) + ", which was read by load_constant or load_once in this launch");
    region.stored = launch_;
    for (std::size_t i = 0; i < bytes; ++i) {
      if (state[i] == State::in_flight)
        fail(lane, FaultKind::in_flight, at,
             "stores to " + element(region, where.address) + " while an asynchronous copy still writes there");
      state[i] = State::written;
    }
  } else {
    for (std::size_t i = 0; i < bytes; ++i) {
      if (state[i] == State::in_flight)
        fail(lane, FaultKind::in_flight, at,
             "loads " + element(region, where.address) + " while an asynchronous copy still writes there: a wait is missing");
      if (state[i] == State::unwritten)
        fail(lane, FaultKind::unwritten, at, "loads " + element(region, where.address + i) + ", which nobody has written yet");
    }
    if (how == Access::load_constant) {
      if (region.shared) fail(lane, FaultKind::wrong_argument, at, "reads shared memory as if it were constant");
      if (region.stored == launch_)
        fail(lane, FaultKind::read_only, at,
             "reads " + element(region, where.address) + " by load_constant or load_once, but the kernel stores to this buffer");
      region.read_as_constant = launch_;
    }
  }
  check_race(lane, where, bytes, stores ? Touch::write : Touch::read, at);
  if (options_.count)
    lane.requests.push_back({where.address, region.shared ? nullptr : &region, at, static_cast<std::uint8_t>(bytes), stores, false});
  return memory_.bytes(where.address);
}

void Machine::prefetch(LaneState& lane, const void* base, std::int64_t index, std::size_t unit, const Place& at) {
  // A prefetch beyond the end is harmless on the device, but it asks for what nobody needs.
  target(lane, base, index, unit, 1, "prefetches", at);
}

void Machine::copy_async(LaneState& lane, void* to, std::int64_t index, const void* from, std::int64_t from_index, std::size_t bytes,
                         bool valid, const Place& at) {
  const Target goal = target(lane, to, index, bytes, bytes, "copies to", at);
  if (!goal.region->shared)
    fail(lane, FaultKind::wrong_argument, at,
         "copies asynchronously to " + element(*goal.region, goal.address) + ", which is not shared memory");
  Copy copy{goal.address, 0, bytes, valid, {}, lane.group, at};
  if (valid) {
    const Target source = target(lane, from, from_index, bytes, bytes, "copies from", at);
    if (source.region->shared) fail(lane, FaultKind::wrong_argument, at, "copies asynchronously from shared memory; the source is global");
    copy.from = source.address;
    std::memcpy(copy.seen.data(), access(lane, from, from_index, bytes, bytes, Access::load, at), bytes);
  }
  State* state = memory_.state(goal.address);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (state[i] == State::in_flight)
      fail(lane, FaultKind::in_flight, at,
           "copies to " + element(*goal.region, goal.address) + " while another asynchronous copy still writes there");
    state[i] = State::in_flight;
  }
  check_race(lane, goal, bytes, Touch::write, at);
  if (options_.count) lane.requests.push_back({goal.address, nullptr, at, static_cast<std::uint8_t>(bytes), true, true});
  sanitizer_.copy(lane.index, valid ? memory_.bytes(copy.from) : nullptr, memory_.bytes(copy.to), bytes, copy.landed);
  lane.copies.push_back(std::move(copy));
}

// As late as they may: here, and not when they were started.
void Machine::land_copies(LaneState& lane, std::uint64_t first_that_stays) {
  auto copy = lane.copies.begin();
  for (; copy != lane.copies.end() && copy->group < first_that_stays; ++copy) {
    if (copy->valid) {
      // Until here it may have read, too.
      check_race(lane, {copy->from, memory_.find(copy->from)}, copy->bytes, Touch::read, copy->place);
      if (std::memcmp(memory_.bytes(copy->from), copy->seen.data(), copy->bytes) != 0)
        fail(lane, FaultKind::race, copy->place,
             "copies from " + element(*memory_.find(copy->from), copy->from) +
                 ", which was changed before the copy had landed; it was started");
      std::memcpy(memory_.bytes(copy->to), copy->seen.data(), copy->bytes);
    } else {
      std::memset(memory_.bytes(copy->to), 0, copy->bytes);
    }
    std::fill_n(memory_.state(copy->to), copy->bytes, State::written);
    check_race(lane, {copy->to, memory_.find(copy->to)}, copy->bytes, Touch::write, copy->place);
    sanitizer_.acquire(lane.sanitizer_fiber, copy->landed);
  }
  lane.copies.erase(lane.copies.begin(), copy);
}

std::uint64_t Machine::update(LaneState& lane, Update what, const void* base, std::int64_t index, std::size_t bytes, std::uint64_t value,
                              std::uint64_t expected, Order order, const Place& at) {
  maybe_yield(lane);
  const Target where = target(lane, base, index, bytes, bytes, what == Update::load ? "loads a flag of" : "updates", at);
  Region& region = *where.region;
  State* state = memory_.state(where.address);
  if (what != Update::load) {
    if (region.constant) fail(lane, FaultKind::read_only, at, "updates " + element(region, where.address) + ", which is constant");
    region.stored = launch_;
  }
  if (what != Update::store && std::any_of(state, state + bytes, [](State one) { return one != State::written; }))
    fail(lane, FaultKind::unwritten, at, "takes the value of " + element(region, where.address) + ", which nobody has written yet");
  if (what != Update::load && what != Update::store) ++counters_.atomics;

  // A loop that polls a flag must not keep those from running whom it waits for: it rests until somebody changes a flag.
  if (what == Update::load && ++lane.polls > 64) {
    lane.polls = 0;
    lane.place = at;
    lane.flag = where.address;
    polling_.push_back(&lane);
    suspend(lane, Status::polling);
  }

  std::byte* place = memory_.bytes(where.address);
  std::uint64_t before = 0;
  std::memcpy(&before, place, bytes);  // the machine is little endian, as every one with CUDA
  // A compare-exchange that finds another value writes nothing, and so releases nothing.
  const bool writes = what != Update::load && (what != Update::compare_exchange || before == expected);
  check_race(lane, where, bytes, writes ? Touch::atomic_update : Touch::atomic_read, at);
  std::uint64_t after = before;
  switch (what) {
    case Update::load:
      break;
    case Update::store:
    case Update::exchange:
      after = value;
      break;
    case Update::add:
      after = static_cast<std::uint32_t>(before + value);
      break;
    case Update::add_float: {
      const float sum = std::bit_cast<float>(static_cast<std::uint32_t>(before)) + std::bit_cast<float>(static_cast<std::uint32_t>(value));
      after = std::bit_cast<std::uint32_t>(sum);
      break;
    }
    case Update::max:
      after = (std::max)(before, value);
      break;
    case Update::compare_exchange:
      after = before == expected ? value : before;
      break;
  }
  if (options_.races) {
    const bool acquires = order == Order::acquire || order == Order::acquire_release;
    const bool releases = order == Order::release || order == Order::acquire_release;
    if (acquires)
      if (const auto found = flags_.find(where.address); found != flags_.end()) learn(lane, found->second);
    if (writes) {
      // A read-modify-write carries on what was released before it; a plain store ends that.
      if (what == Update::store) flags_.erase(where.address);
      if (releases) {
        OthersPtr& known = flags_[where.address];
        known = later(known, tell(lane));
      }
    }
  }
  sanitizer_.update(lane.sanitizer_fiber, writes ? what : Update::load, place, bytes, after, order);
  if (what != Update::load) {
    std::memcpy(place, &after, bytes);
    std::fill_n(state, bytes, State::written);
    for (LaneState* other : polling_) wake(*other);
    polling_.clear();
    for (std::size_t i = 0; i < waiting_.size();) {
      LaneState& other = *waiting_[i];
      if (other.flag == where.address && static_cast<std::int32_t>(static_cast<std::uint32_t>(after) - other.target) >= 0) {
        waiting_[i] = waiting_.back();
        waiting_.pop_back();
        wake(other);
      } else {
        ++i;
      }
    }
  }
  return before;
}

OthersPtr Machine::tell(LaneState& lane, const Copier* copier) {
  boost::intrusive_ptr<Known> own(new Known);
  own->epoch = lane.clock.own->epoch;
  own->epoch[static_cast<std::size_t>(lane.thread)] = lane.clock.epoch;
  if (copier != nullptr) own->epoch[static_cast<std::size_t>(kernel_.threads + copier->number)] = copier->clock.epoch;
  own->seal();
  boost::intrusive_ptr<Others> told(new Others);
  told->blocks.push_back({static_cast<std::uint32_t>(lane.block), own});
  ++lane.clock.epoch;
  return later(OthersPtr(told), lane.clock.others);
}

void Machine::learn(LaneState& lane, const OthersPtr& told) {
  if (told == nullptr) return;
  lane.clock.version = ++versions_;
  const auto block = static_cast<std::uint32_t>(lane.block);
  boost::intrusive_ptr<Others> foreign(new Others);
  for (const OfBlock& one : told->blocks)
    if (one.block == block)
      lane.clock.own = later(lane.clock.own, one.known);
    else
      foreign->blocks.push_back(one);
  lane.clock.others = later(lane.clock.others, OthersPtr(foreign));
}

}  // namespace diecast::simt
