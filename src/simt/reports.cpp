// Sentences about what went wrong.
#include <cstring>
#include <map>

#include <boost/core/demangle.hpp>

#include "machine.hpp"

namespace diecast::simt {
namespace {

// A kernel's name without the namespaces that all share.
std::string name_of(const std::type_info& type) {
  std::string name = boost::core::demangle(type.name());
  for (const char* prefix : {"diecast::kernels::", "(anonymous namespace)::"})
    for (std::size_t at; (at = name.find(prefix)) != std::string::npos;) name.erase(at, std::strlen(prefix));
  return name;
}

// 0-31, 64, 66
std::string ranges(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    text += (text.empty() ? "" : ", ") + std::to_string(numbers[i]);
    if (end - i > 1) text += "-" + std::to_string(numbers[end - 1]);
    i = end;
  }
  return text;
}

const char* verb(Touch touch) {
  switch (touch) {
    case Touch::read:
    case Touch::atomic_read:
      return "loads";
    case Touch::write:
      return "stores to";
    case Touch::atomic_update:
      return "updates";
  }
  return "";
}

}  // namespace

std::string short_place(const Place& place) {
  const char* slash = std::strrchr(place.file_name(), '/');
  return std::string(slash != nullptr ? slash + 1 : place.file_name()) + ":" + std::to_string(place.line());
}

std::string Machine::where(const LaneState& lane) const {
  return "kernel " + name_of(*kernel_.type) + ", block " + std::to_string(lane.block) + ", thread " + std::to_string(lane.thread);
}

std::string Machine::element(const Region& region, Address address) const {
  const std::size_t offset = address - region.begin;
  if (region.shared) return "shared memory at byte " + std::to_string(offset);
  return region.name + "[" + std::to_string(offset / region.element) + "]";
}

void Machine::blame(LaneState& lane, FaultKind kind, const Place& at, const std::string& what) {
  fault_.emplace(kind, where(lane) + ": " + what + " at " + short_place(at));
}

void Machine::fail(LaneState& lane, FaultKind kind, const Place& at, const std::string& what) {
  blame(lane, kind, at, what);
  throw Stop{};
}

void Machine::fail_race(LaneState& lane, const Region& region, Address address, Touch how, const Place& at, const Record& other) {
  const auto warps = static_cast<std::uint32_t>(warps_ + 1);
  const auto block = other.warp / warps, warp = other.warp % warps;
  const auto thread = 32 * warp + static_cast<std::uint32_t>(__builtin_ctz(other.lanes));
  const std::string whom = warp + 1 == warps ? "a bulk copy" : "thread " + std::to_string(thread);
  fail(lane, FaultKind::race, at,
       std::string(verb(how)) + " " + element(region, address) + ", and nothing orders this and what " + whom +
           (static_cast<int>(block) == lane.block ? "" : " of block " + std::to_string(block)) + " does there (it " + verb(other.touch) +
           " it at " + short_place(other.place) + "),");
}

// The frames of the lane that failed are not unwound: an instruction that never throws has no way for it.
void Machine::segment_violation(LaneState* lane, Address address) {
  lane->machine->sanitizer_.to_executor();
  lane->machine->blame_violation(*lane, address);
  lane->fiber.leave_for(lane->machine->scheduler_);
}

void Machine::blame_violation(LaneState& lane, Address address) {
  if (address == 0)
    return blame(lane, FaultKind::wrong_argument, lane.place,
                 "needs more stack than the " + std::to_string(options_.stack_bytes) +
                     " bytes that a lane has (Options::stack_bytes), or dereferences a null pointer; it was last seen");
  const Region* region = memory_.find(address);
  const bool inside = region != nullptr && address >= region->begin && address < region->end;
  blame(lane, FaultKind::raw_dereference, lane.place,
        inside ? "dereferences " + element(*region, address) + " itself; every access goes through the context; it was last seen"
               : "dereferences an address that is none of its buffers'; it was last seen");
}

// Nobody can go on, though some have not left.
void Machine::stuck() {
  std::map<std::string, std::map<int, std::vector<int>>> waiting;  // what for -> block -> threads
  bool meets = false, at_barrier = false;
  for (const auto& block : blocks_)
    for (int thread = 0; thread < kernel_.threads; ++thread) {
      const LaneState& lane = block->lanes[thread];
      if (lane.machine == nullptr) continue;  // of a block that has not begun
      std::string what;
      switch (lane.status) {
        case Status::meeting:
          what = std::string("wait in ") + lane.meeting + " at " + short_place(lane.place);
          break;
        case Status::barrier:
          what = "wait at the block's barrier at " + short_place(lane.place);
          break;
        case Status::named_barrier:
          what = "wait at a named barrier at " + short_place(lane.place);
          break;
        case Status::flag:
          what = "wait until " + element(*memory_.find(lane.flag), lane.flag) + " is " + std::to_string(lane.target) + " at " +
                 short_place(lane.place) + " (it is ";
          {
            std::uint32_t now = 0;
            std::memcpy(&now, memory_.bytes(lane.flag), 4);
            what += std::to_string(now) + ")";
          }
          break;
        case Status::bulk: {
          const BulkBarrier& barrier = block->bulk.at(lane.flag);
          what = "wait for bulk copies at " + short_place(lane.place) + " (" + std::to_string(barrier.started.size()) + " of " +
                 std::to_string(barrier.copies) + " have been started)";
          break;
        }
        case Status::polling:
          what = "poll " + element(*memory_.find(lane.flag), lane.flag) + " in vain at " + short_place(lane.place);
          break;
        case Status::left:
          what = "have left the kernel";
          break;
        case Status::ready:
          break;
      }
      meets = meets || lane.status == Status::meeting;
      at_barrier = at_barrier || lane.status == Status::barrier;
      waiting[what][lane.block].push_back(thread);
    }
  std::string sentence = "kernel " + name_of(*kernel_.type) + ": nobody can go on:";
  for (const auto& [what, of_block] : waiting) {
    int shown = 0;
    for (const auto& [block, threads] : of_block) {
      if (++shown > 4) {
        sentence += " and so on in " + std::to_string(of_block.size()) + " blocks;";
        break;
      }
      sentence += " of block " + std::to_string(block) + ", threads " + ranges(threads) + " " + what + ";";
    }
  }
  sentence.pop_back();
  if (!kernel_.cooperative && block_count_ > 1)
    sentence += ". Blocks of this kernel run one after another, since the operation does not say cooperative = true";
  throw Fault(meets ? FaultKind::divergent : at_barrier ? FaultKind::barrier_not_reached : FaultKind::deadlock, sentence);
}

}  // namespace diecast::simt
