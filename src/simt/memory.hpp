// Device memory, from within. One range of addresses that no page backs (what kernels see), and beside it, at constant distances, the
// bytes, the state of each byte, and a cell for each 4-byte word where the race detector keeps its lists. All of it is reserved at once
// and costs only what is touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <diecast/simt/device.hpp>

namespace diecast::simt {

using Address = std::uintptr_t;

enum class State : unsigned char { unwritten = 0, written = 1, in_flight = 2 };

struct Cell {
  std::uint32_t stamp;  // of the launch, or of the block for shared memory: an older one means an empty list
  std::uint32_t first;  // of the list in the buffer's records
};

struct Region {  // a buffer and what is known about it
  std::string name;
  Address begin = 0, end = 0;
  std::size_t element = 1;
  bool constant = false;
  bool shared = false;
  bool may_differ = false;  // from schedule to schedule
  int slot = 0;                                    // of shared memory: whose
  std::uint64_t read_as_constant = 0, stored = 0;  // the last launch that did so
  std::size_t first_page = 0, pages = 0;           // guard zones included
};

struct Memory::Impl {
  static constexpr std::size_t page = std::size_t{1} << 16;

  explicit Impl(std::size_t reserve);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Address allocate(std::size_t bytes, const std::string& name, std::size_t element, bool constant);
  void release(Address begin);
  Region& whole(const void* at, std::size_t bytes, const char* what);  // the region that holds these bytes, or an Error

  // The region whose pages, guard zones included, `address` lies in; null where there is none.
  Region* find(Address address) {
    const std::size_t offset = address - base;
    return offset < size && owner[offset / page] != 0 ? &regions[owner[offset / page] - 1] : nullptr;
  }
  std::byte* bytes(Address address) const { return data + (address - base); }
  State* state(Address address) const { return states + (address - base); }
  Cell& cell(Address address) const { return cells[(address - base) / 4]; }

  std::size_t size;
  Address base;
  std::byte* data;
  State* states;
  Cell* cells;
  std::uint32_t* owner;  // of each page: 1 + index into regions
  std::vector<Region> regions;
  std::uint32_t stamps = 0;
  std::uint64_t launches = 0;
  std::vector<Address> shared;   // of each block that is alive, kept from launch to launch
  std::size_t shared_bytes = 0;  // of each of these

 private:
  std::size_t next_page_ = 0;
  std::multimap<std::size_t, std::size_t> free_pages_;  // how many -> where
  std::vector<std::uint32_t> free_regions_;
};

}  // namespace diecast::simt
