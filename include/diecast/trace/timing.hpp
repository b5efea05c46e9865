// The time to the first token, stage by stage. Whole nanoseconds of stages that touch: their sum is the total, exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <diecast/trace/trace.hpp>

namespace diecast {

struct StageTime {
  std::string name;  // load, template, tokenize, queue, prefill, sample, send
  std::int64_t ns;
};

struct Timing {
  std::vector<StageTime> stages;  // in order of appearance; what did not happen is absent
  std::int64_t ttft_ns = 0;
  std::optional<double> decode_per_token_ns{};  // absent where there were fewer than two tokens
};

// The stages up to the first `decode`, those of one name together.
inline Timing time_to_first_token(const Trace& trace) {
  Timing timing;
  for (const Trace::Span& span : trace.spans()) {
    if (!span.stage) continue;
    if (span.name == "decode") break;
    const std::int64_t length = span.end - span.begin;
    timing.ttft_ns += length;
    bool known = false;
    for (StageTime& stage : timing.stages)
      if (stage.name == span.name) {
        stage.ns += length;
        known = true;
      }
    if (!known) timing.stages.push_back({span.name, length});
  }
  return timing;
}

}  // namespace diecast
