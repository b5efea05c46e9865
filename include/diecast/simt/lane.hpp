// One thread of a running block, as the executor sees it. The bodies are compiled once, in src/simt: the fibers that the lanes run on
// are switched there. Context (context.hpp) is what a kernel sees of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <diecast/kernels/context.hpp>
#include <diecast/simt/place.hpp>

namespace diecast::simt {

enum class Access : unsigned char { load, load_constant, store, atomic };
enum class Update : unsigned char { load, store, add, add_float, max, exchange, compare_exchange };

// Lanes of a warp that meet: what they do there, told in a report, and what becomes of the data that each of them brings.
struct Meeting {
  enum class Kind : unsigned char { exchange, matrix_product, matrix_load };
  const char* name;
  void (*complete)(void* const* of_lane, std::uint32_t lanes);  // run once, by whoever comes last
  Kind kind = Kind::exchange;
};

class Lane {
 public:
  int block = 0, blocks = 0, thread = 0, threads = 0;

  // Checks the access of `bytes` at base[index], where base counts units of `unit` bytes, and says where these bytes are on the host.
  std::byte* access(const void* base, std::int64_t index, std::size_t unit, std::size_t bytes, Access, const Place&);
  void check_extent(std::int64_t index, std::int64_t extent, const Place&);  // of an array whose size the type says
  void prefetch(const void* base, std::int64_t index, std::size_t unit, const Place&);

  void copy_async(void* to, std::int64_t index, const void* from, std::int64_t from_index, std::size_t bytes, bool valid, const Place&);
  void commit_copies();
  void wait_copies(int groups);
  void init_bulk(void* barrier, std::int64_t index, int copies, const Place&);
  void copy_bulk(void* to, std::int64_t index, const void* from, std::int64_t from_index, std::size_t unit, int count, void* barrier,
                 std::int64_t barrier_index, const Place&);
  void wait_bulk(void* barrier, std::int64_t index, std::uint32_t phase, const Place&);

  void barrier(const Place&);
  void named_barrier(int id, int threads_expected, bool waits, const Place&);
  void sync_warp(std::uint32_t lanes, const Place&);
  void meet(const Meeting&, std::uint32_t lanes, void* data, const Place&);
  void check_source(int lane, std::uint32_t lanes, const char* name, const Place&);  // of a shuffle

  std::uint64_t update(Update, const void* base, std::int64_t index, std::size_t bytes, std::uint64_t value, std::uint64_t expected,
                       kernels::Order, const Place&);
  void wait_at_least(const std::uint32_t* flag, std::int64_t index, std::uint32_t target, const Place&);
  void count_dot() { ++dots_; }

 protected:
  friend class Machine;
  Lane() = default;
  ~Lane() = default;
  std::uint64_t take_dots() { return std::exchange(dots_, 0); }

 private:
  std::uint64_t dots_ = 0;
};

}  // namespace diecast::simt
