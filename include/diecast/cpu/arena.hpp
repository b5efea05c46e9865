// One piece of zeroed memory; for what is read once a token on huge pages, where the system has them: fewer misses of the translation cache.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include <diecast/error.hpp>

namespace diecast::cpu {

class Arena {
 public:
  Arena() = default;
  enum class Pages { huge, usual };  // usual: for memory of which perhaps only a little is ever touched

  explicit Arena(std::size_t bytes, Pages pages = Pages::huge) : size_((bytes + huge - 1) / huge * huge + huge) {
    address_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address_ == MAP_FAILED) {
      const int error = errno;
      address_ = nullptr;
      throw Error(std::to_string(bytes) + " bytes of memory were asked for: " + std::strerror(error));
    }
    const auto at = reinterpret_cast<std::uintptr_t>(address_);
    begin_ = reinterpret_cast<std::byte*>((at + huge - 1) / huge * huge);
    if (pages == Pages::huge) ::madvise(begin_, size_ - huge, MADV_HUGEPAGE);  // advice: where it is not taken, nothing is lost but speed
  }
  Arena(Arena&& other) noexcept : address_(std::exchange(other.address_, nullptr)), begin_(other.begin_), size_(other.size_) {}
  Arena& operator=(Arena&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(begin_, other.begin_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Arena() {
    if (address_) ::munmap(address_, size_);
  }

  std::byte* data() const { return begin_; }  // at a multiple of 2 MiB

 private:
  static constexpr std::size_t huge = std::size_t{2} << 20;

  void* address_ = nullptr;
  std::byte* begin_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace diecast::cpu
