// Work shared between threads, in pieces that do not depend on the number of threads: the same bits for any.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace diecast::reference {

// Calls work(i) once for each i in [0, count).
template <class Work>
void parallel_for(int count, int threads, const Work& work) {
  if (threads <= 1 || count <= 1) {
    for (int i = 0; i < count; ++i) work(i);
    return;
  }
  std::atomic<int> next{0};
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(threads));
  const auto run = [&](std::size_t self) {
    try {
      for (int i = next.fetch_add(1, std::memory_order_relaxed); i < count; i = next.fetch_add(1, std::memory_order_relaxed)) work(i);
    } catch (...) {
      errors[self] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (int t = 1; t < (std::min)(threads, count); ++t) helpers.emplace_back(run, static_cast<std::size_t>(t));
    run(0);
  }  // joined here
  for (const auto& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace diecast::reference
