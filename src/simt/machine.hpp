// One launch: its blocks, warps and lanes, and who moves next. A lane runs until it has to wait for others; what it waits for is its
// status. The last one to come to a meeting or a barrier does what is to be done there and wakes the others.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <diecast/simt/launch.hpp>

#include "clocks.hpp"
#include "counting.hpp"
#include "fibers.hpp"
#include "memory.hpp"
#include "race_sanitizer.hpp"
#include "races.hpp"

namespace diecast::simt {

// SplitMix64 (Steele, Lea and Flood 2014): schedules need many numbers and no quality beyond its.
struct Random {
  using result_type = std::uint64_t;
  std::uint64_t state;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~std::uint64_t{0}; }
  result_type operator()() {
    std::uint64_t x = state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
  }
};

enum class Status : unsigned char { ready, meeting, barrier, named_barrier, flag, polling, bulk, left };

struct Stop {};  // thrown through a lane that has failed

struct LaneState;
struct Copy {  // asynchronous, on its way
  Address to, from;
  std::size_t bytes;
  bool valid;
  std::array<std::byte, 16> seen;  // what lay there when it was started
  std::uint64_t group;
  Place place;
  SanitizerOrder landed{};
};

struct BulkCopy {
  Address to, from;
  std::vector<std::byte> seen;
  Place place;
  SanitizerOrder landed{};
};
// Where bulk copies arrive.
struct BulkBarrier {
  int copies = 0;           // of a phase
  int copier = 0;           // among those of its block; barriers after the 32nd share theirs with others
  std::uint32_t phase = 0;  // that is not over
  std::vector<BulkCopy> started{};
  std::vector<LaneState*> waiting{};
  // What those who started the copies knew; whoever waits learns what belongs to his phase, and nothing of the next one.
  OthersPtr told{}, told_before{};
  std::vector<SanitizerOrder> landed{};  // of the phase before
};

struct LaneState : Lane {
  Machine* machine = nullptr;
  Fiber fiber;
  void* sanitizer_fiber = nullptr;
  Status status = Status::left;
  std::uint32_t index = 0;  // among the lanes that are alive
  Clock clock;

  // What it waits for. `place` is where it last met others, too.
  const char* meeting = nullptr;
  std::uint32_t mask = 0;
  void* data = nullptr;
  Place place;
  Address flag = 0;
  std::uint32_t target = 0;
  int polls = 0;  // loads of flags since it last was stopped for polling
  std::uint64_t steps = 0;  // accesses since it last let others run

  std::vector<Copy> copies;  // oldest first
  std::uint64_t group = 0;   // of the next commit
  std::vector<Request> requests;
};

struct NamedBarrier {
  int threads = 0, came = 0;
  std::uint32_t warps = 0;  // that came
  std::vector<LaneState*> waiting;
  Gathering gathering;
  SanitizerOrder order;
};

struct WarpState {
  std::uint32_t waiting = 0;  // lanes in a meeting that is not complete
  std::uint32_t gone = 0;     // lanes that left the kernel
  bool one_meeting = true;    // all that wait are in the same one, that of `first`
  int first = 0;
};

struct BlockState {
  int number = 0;
  int slot = 0;
  LaneState* lanes = nullptr;
  int left = 0;  // the kernel
  int at_barrier = 0;
  std::vector<WarpState> warps;
  std::array<NamedBarrier, 16> named;
  std::unordered_map<Address, BulkBarrier> bulk;
  Records records;  // of shared memory
  std::array<std::uint32_t, kernels::warp_lanes> copier_epochs{};
  std::uint32_t stamp = 0;
  Address shared = 0;
};

std::string short_place(const Place&);  // file and line

// A lane's call of the executor: from here to its end no lane runs, for the thread sanitizer.
class Call {
 public:
  explicit Call(Lane&);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  LaneState& lane;
  Machine& machine;
};

class Machine {
 public:
  Machine(Memory::Impl&, const Kernel&, int blocks, const void* params, const Options&);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  Counters run();
  const RaceSanitizer& sanitizer() const { return sanitizer_; }

  std::byte* access(LaneState&, const void* base, std::int64_t index, std::size_t unit, std::size_t bytes, Access, const Place&);
  void prefetch(LaneState&, const void* base, std::int64_t index, std::size_t unit, const Place&);
  void copy_async(LaneState&, void* to, std::int64_t index, const void* from, std::int64_t from_index, std::size_t bytes, bool valid,
                  const Place&);
  void land_copies(LaneState&, std::uint64_t first_that_stays);
  void init_bulk(LaneState&, void* barrier, std::int64_t index, int copies, const Place&);
  void copy_bulk(LaneState&, void* to, std::int64_t index, const void* from, std::int64_t from_index, std::size_t unit, int count,
                 void* barrier, std::int64_t barrier_index, const Place&);
  void wait_bulk(LaneState&, void* barrier, std::int64_t index, std::uint32_t phase, const Place&);
  void barrier(LaneState&, const Place&);
  void named_barrier(LaneState&, int id, int threads, bool waits, const Place&);
  void sync_warp(LaneState&, std::uint32_t lanes, const Place&);
  void meet(LaneState&, const Meeting&, std::uint32_t lanes, void* data, const Place&);
  void check_source(LaneState&, int from, std::uint32_t lanes, const char* name, const Place&);
  std::uint64_t update(LaneState&, Update, const void* base, std::int64_t index, std::size_t bytes, std::uint64_t value,
                       std::uint64_t expected, kernels::Order, const Place&);
  void wait_at_least(LaneState&, const void* base, std::int64_t index, std::uint32_t target, const Place&);

  [[noreturn]] void fail(LaneState&, FaultKind, const Place&, const std::string& what);  // throws Stop through the kernel
  static void segment_violation(LaneState*, Address);  // entered in place of the instruction that dereferenced

 private:
  struct Target {  // of an access that was found right
    Address address;
    Region* region;
  };

  // The schedule (machine.cpp).
  void start(BlockState&, int number);
  void run_until_all_left();
  LaneState* next();
  void resume(LaneState&);
  // A lane that waits when the launch fails is never taken up again: nothing on its stack may own memory then.
  void suspend(LaneState& lane, Status);
  void wake(LaneState& lane);
  void maybe_yield(LaneState&);
  bool lags(const LaneState& lane) const;
  static void lane_main(void* lane);
  void leave(LaneState&);

  // Reports (reports.cpp).
  void blame(LaneState&, FaultKind, const Place&, const std::string& what);
  void blame_violation(LaneState&, Address);
  std::string where(const LaneState&) const;
  std::string element(const Region&, Address) const;
  [[noreturn]] void stuck();
  [[noreturn]] void fail_race(LaneState&, const Region&, Address, Touch, const Place&, const Record&);

  // Memory (accesses.cpp).
  Target target(LaneState&, const void* base, std::int64_t index, std::size_t unit, std::size_t bytes, const char* verb, const Place&);
  struct Copier {  // what moves bytes of bulk copies
    int number;
    Clock clock;
  };
  void check_race(LaneState&, const Target&, std::size_t bytes, Touch, const Place&, const Copier* = nullptr);
  Records& records_of(const Region&);
  // What it knows, and what a copier does in its epoch; what the lane does from here on is not part of it.
  OthersPtr tell(LaneState&, const Copier* = nullptr);
  void learn(LaneState&, const OthersPtr&);

  // Bulk copies (bulk.cpp).
  struct BulkTarget {
    Address address;
    BulkBarrier& barrier;
  };
  void start_bulk(LaneState&, void* to, std::int64_t index, const void* from, std::int64_t from_index, std::size_t unit, int count,
                  void* barrier, std::int64_t barrier_index, const Place&);
  BulkTarget bulk_target(LaneState&, void* base, std::int64_t index, const char* verb, const Place&);
  void land_bulk(LaneState&, BulkBarrier&);
  void check_bulk_awaited(LaneState&);  // when the last lane of a block leaves

  // Meetings (meetings.cpp): true for the last one to come, who then wakes the others of `mask`.
  bool come(LaneState&, const char* name, std::uint32_t mask, void* data, const Place&);
  void wake_met(LaneState&, std::uint32_t mask);
  void flush_requests(BlockState&, int warp);

  BlockState& block_of(const LaneState& lane) { return *blocks_[lane.index / static_cast<std::uint32_t>(kernel_.threads)]; }
  LaneState& lane_of_warp(const LaneState& one, int lane) { return block_of(one).lanes[one.thread / 32 * 32 + lane]; }

  Memory::Impl& memory_;
  const Kernel& kernel_;
  const void* params_;
  Options options_;
  int block_count_;
  std::uint64_t launch_;
  std::uint32_t stamp_;
  int warps_;
  RaceSanitizer sanitizer_;

  std::vector<std::unique_ptr<BlockState>> blocks_;  // those that are alive
  std::unique_ptr<LaneState[]> lanes_;
  std::size_t lane_count_ = 0;
  std::vector<std::uint64_t> ready_;  // a bit for each lane
  std::size_t alive_ = 0;             // lanes that have not left
  Random random_;
  Fiber scheduler_;
  KnownPtr nothing_;                              // what a lane knows at first
  Records records_;                               // of global memory
  std::uint32_t versions_ = 0;                    // of what lanes know
  std::unordered_map<Address, OthersPtr> flags_;  // what whoever acquires there learns
  std::vector<LaneState*> waiting_;               // for flags
  std::vector<LaneState*> polling_;               // in loops of their own
  std::optional<Fault> fault_;
  std::exception_ptr exception_;
  Counters counters_;
};

}  // namespace diecast::simt
