// A wait longer than a second says what it waits for, on a terminal; the words go away when it ends. Elsewhere nothing is written: standard error
// belongs to the table and to sentences.
#pragma once

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <fmt/core.h>

namespace diecast::shell {

class Waiting {
 public:
  explicit Waiting(std::string what) {
    if (::isatty(STDERR_FILENO) == 0) return;
    thread_ = std::jthread([what = std::move(what)](std::stop_token over) {
      std::mutex mutex;
      std::condition_variable_any ended;
      std::unique_lock lock(mutex);
      int seconds = 0;
      while (!ended.wait_for(lock, over, std::chrono::seconds(1), [&] { return over.stop_requested(); })) fmt::print(stderr, "\r{} ({} s)", what, ++seconds);
      if (seconds > 0) fmt::print(stderr, "\r\x1b[K");
    });
  }

 private:
  std::jthread thread_;
};

}  // namespace diecast::shell
