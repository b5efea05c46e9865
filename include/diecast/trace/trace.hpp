// Spans of the path to the first token. Stages are neighbours that share one time stamp: each ends where the next begins,
// so their lengths add up to the whole. Inner spans (a block, the head) lie inside a stage.
// A trace belongs to one thread; a null Trace* costs one comparison.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

class Trace {
 public:
  using clock = std::chrono::steady_clock;
  struct Span {
    std::string name;
    int index;                 // of a block or of a token; -1: none
    std::int64_t begin, end;   // nanoseconds since the trace's first instant
    bool stage;
  };

  // An inner span that ends with its scope.
  class Scope {
   public:
    Scope(Trace* trace, std::string_view name, int index = -1) : trace_(trace) {
      if (trace_) at_ = trace_->open(name, index, false);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() {
      if (trace_) trace_->spans_[at_].end = trace_->now();
    }

   private:
    Trace* trace_;
    std::size_t at_{};
  };

  explicit Trace(clock::time_point first = clock::now()) : first_(first) {}

  // Ends the stage that runs and begins this one, at one time stamp. The first stage begins at the trace's first instant.
  void stage(std::string_view name, int index = -1) {
    const std::int64_t instant = end_stage();
    running_ = open_at(instant, name, index, true);
  }
  // Ends the stage that runs; returns the instant.
  std::int64_t end_stage() {
    if (running_ == none) return spans_.empty() ? 0 : now();
    const std::int64_t instant = now();
    spans_[running_].end = instant;
    running_ = none;
    return instant;
  }

  // Nanoseconds that all stages of this name took together.
  std::int64_t stage_ns(std::string_view name) const {
    std::int64_t sum = 0;
    for (const Span& span : spans_)
      if (span.stage && span.name == name) sum += span.end - span.begin;
    return sum;
  }
  const std::vector<Span>& spans() const { return spans_; }
  std::int64_t now() const { return std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - first_).count(); }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  std::size_t open(std::string_view name, int index, bool stage) { return open_at(now(), name, index, stage); }
  std::size_t open_at(std::int64_t instant, std::string_view name, int index, bool stage) {
    spans_.push_back({std::string(name), index, instant, instant, stage});
    return spans_.size() - 1;
  }

  clock::time_point first_;
  std::vector<Span> spans_;
  std::size_t running_ = none;
};

}  // namespace diecast
