// From a mapped engine file to huge pages, two megabytes at a time, while it is in use. A file is mapped on small pages, so that it can be used at once;
// a decode that reads all of it for every token then misses the translation cache all the time. Each piece is copied to a huge page, and that
// takes the piece's place at its address in one step: whoever reads it meanwhile reads the same bytes, and the file's pages are given back.
// The pieces are moved by the threads that run the model, one each after a pass: no thread of its own takes their cores.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace diecast::cpu {

class HugePages {
 public:
  static constexpr std::size_t piece = std::size_t{2} << 20;

  // The whole pieces of a mapped range; none where the system gives no huge pages.
  explicit HugePages(std::span<const std::byte> range) {
    if (!available()) return;
    const auto begin = reinterpret_cast<std::uintptr_t>(range.data());
    next_ = (begin + piece - 1) / piece * piece;
    end_ = (begin + range.size()) / piece * piece;
  }

  bool done() const { return next_.load(std::memory_order_relaxed) >= end_; }

  // Moves the next piece. Any thread may call it at any time.
  void move_next() {
#if defined(__linux__)
    const std::uintptr_t at = next_.fetch_add(piece, std::memory_order_relaxed);
    if (at >= end_) return;
    void* const memory = ::mmap(nullptr, 2 * piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return stop();
    const auto first = reinterpret_cast<std::uintptr_t>(memory), page = (first + piece - 1) / piece * piece;
    void* const target = reinterpret_cast<void*>(page);
    ::madvise(target, piece, MADV_HUGEPAGE);
    std::memcpy(target, reinterpret_cast<const void*>(at), piece);
    const bool moved = ::mprotect(target, piece, PROT_READ) == 0 && ::mremap(target, piece, piece, MREMAP_MAYMOVE | MREMAP_FIXED, reinterpret_cast<void*>(at)) != MAP_FAILED;
    if (page > first) ::munmap(memory, page - first);
    const std::uintptr_t rest = moved ? page + piece : page;
    if (first + 2 * piece > rest) ::munmap(reinterpret_cast<void*>(rest), first + 2 * piece - rest);
    if (!moved) stop();
#endif
  }

 private:
  static bool available() {
#if defined(__linux__)
    std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    return text.find("[always]") != std::string::npos || text.find("[madvise]") != std::string::npos;
#else
    return false;
#endif
  }
  void stop() { next_.store(end_, std::memory_order_relaxed); }

  std::atomic<std::uintptr_t> next_{0};
  std::uintptr_t end_ = 0;
};

}  // namespace diecast::cpu
