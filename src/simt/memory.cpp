#include "memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include <diecast/error.hpp>

namespace diecast::simt {
namespace {

void* reserve_pages(std::size_t bytes, int protection) {
  void* pages = ::mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED)
    throw Error("the system does not give " + std::to_string(bytes >> 20) + " MiB of addresses for the emulated device", Blame::program);
  return pages;
}

}  // namespace

Memory::Impl::Impl(std::size_t reserve)
    : size((reserve + page - 1) / page * page),
      base(reinterpret_cast<Address>(reserve_pages(size, PROT_NONE))),
      data(static_cast<std::byte*>(reserve_pages(size, PROT_READ | PROT_WRITE))),
      states(static_cast<State*>(reserve_pages(size, PROT_READ | PROT_WRITE))),
      cells(static_cast<Cell*>(reserve_pages(2 * size, PROT_READ | PROT_WRITE))),
      owner(static_cast<std::uint32_t*>(reserve_pages(size / page * sizeof(std::uint32_t), PROT_READ | PROT_WRITE))) {}

Memory::Impl::~Impl() {
  ::munmap(reinterpret_cast<void*>(base), size);
  ::munmap(data, size);
  ::munmap(states, size);
  ::munmap(cells, 2 * size);
  ::munmap(owner, size / page * sizeof(std::uint32_t));
}

// A page of guard zone before, at least one after; what goes further finds pages that have no owner, or another buffer, and both are seen.
Address Memory::Impl::allocate(std::size_t bytes, const std::string& name, std::size_t element, bool constant) {
  if (bytes > size)
    throw Error("the buffer " + name + " of " + std::to_string(bytes) + " bytes is larger than the emulated device's memory",
                Blame::program);
  const std::size_t pages = (bytes + page - 1) / page + 2;
  std::size_t first = next_page_;
  if (const auto free = free_pages_.lower_bound(pages); free != free_pages_.end() && free->first <= 2 * pages) {
    first = free->second;
    if (free->first > pages) free_pages_.emplace(free->first - pages, free->second + pages);
    free_pages_.erase(free);
  } else {
    if (next_page_ + pages > size / page)
      throw Error("the emulated device has no room left for the buffer " + name + " of " + std::to_string(bytes) + " bytes",
                  Blame::program);
    next_page_ += pages;
  }
  std::uint32_t index;
  if (free_regions_.empty()) {
    index = static_cast<std::uint32_t>(regions.size());
    regions.emplace_back();
  } else {
    index = free_regions_.back();
    free_regions_.pop_back();
  }
  Region& region = regions[index];
  region = {};
  region.name = name;
  region.begin = base + (first + 1) * page;
  region.end = region.begin + bytes;
  region.element = element;
  region.constant = constant;
  region.first_page = first;
  region.pages = pages;
  std::fill_n(owner + first, pages, index + 1);
  return region.begin;
}

void Memory::Impl::release(Address begin) {
  Region* region = find(begin);
  if (region == nullptr || region->begin != begin) throw Error("release was given an address that allocate did not give", Blame::program);
  const std::size_t offset = begin - base, bytes = (region->pages - 2) * page;
  if (bytes > 0) {
    ::madvise(data + offset, bytes, MADV_DONTNEED);  // reads as zeros again: unwritten
    ::madvise(states + offset, bytes, MADV_DONTNEED);
    ::madvise(reinterpret_cast<std::byte*>(cells) + 2 * offset, 2 * bytes, MADV_DONTNEED);
  }
  free_regions_.push_back(owner[region->first_page] - 1);
  std::fill_n(owner + region->first_page, region->pages, 0u);
  free_pages_.emplace(region->pages, region->first_page);
  region->begin = region->end = 0;
}

Region& Memory::Impl::whole(const void* at, std::size_t bytes, const char* what) {
  const auto address = reinterpret_cast<Address>(at);
  Region* region = find(address);
  if (region == nullptr || address < region->begin || address > region->end || bytes > region->end - address)
    throw Error(std::string(what) + " of " + std::to_string(bytes) + " bytes that do not lie in one buffer of the emulated device" +
                    (region != nullptr ? ": " + region->name + " has " + std::to_string(region->end - region->begin) : ""),
                Blame::program);
  return *region;
}

Memory::Memory(std::size_t reserve) : impl_(std::make_unique<Impl>(reserve)) {}
Memory::~Memory() = default;

void* Memory::allocate(std::size_t bytes, const std::string& name, std::size_t element, bool constant) {
  return reinterpret_cast<void*>(impl_->allocate(bytes, name, element, constant));
}
void Memory::release(void* buffer) { impl_->release(reinterpret_cast<Address>(buffer)); }

void Memory::upload(void* to, const void* from, std::size_t bytes) {
  impl_->whole(to, bytes, "an upload");
  if (bytes == 0) return;
  const auto address = reinterpret_cast<Address>(to);
  std::memcpy(impl_->bytes(address), from, bytes);
  std::memset(impl_->state(address), static_cast<int>(State::written), bytes);
}

void Memory::download(void* to, const void* from, std::size_t bytes) const {
  impl_->whole(from, bytes, "a download");
  if (bytes == 0) return;
  const auto address = reinterpret_cast<Address>(from);
  std::memcpy(to, impl_->bytes(address), bytes);
  const State* state = impl_->state(address);
  for (std::size_t i = 0; i < bytes; ++i)
    if (state[i] != State::written) static_cast<unsigned char*>(to)[i] = 0xff;
}

std::size_t Memory::unwritten(const void* from, std::size_t bytes) const {
  impl_->whole(from, bytes, "a look");
  const State* state = impl_->state(reinterpret_cast<Address>(from));
  return bytes - static_cast<std::size_t>(std::count(state, state + bytes, State::written));
}

void Memory::forget(void* at, std::size_t bytes) {
  impl_->whole(at, bytes, "forgetting");
  if (bytes > 0) std::memset(impl_->state(reinterpret_cast<Address>(at)), static_cast<int>(State::unwritten), bytes);
}

void Memory::may_differ(const void* buffer) { impl_->whole(buffer, 0, "a buffer").may_differ = true; }

}  // namespace diecast::simt
