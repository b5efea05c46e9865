// A trace as Chrome trace-event JSON, which Perfetto and chrome://tracing open: "complete" events (ph X), microseconds with three decimals,
// so whole nanoseconds. Spans of one thread nest by time. Format: "Trace Event Format", Google, 2016.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include <diecast/trace/json_text.hpp>
#include <diecast/trace/trace.hpp>

namespace diecast {

namespace detail {

inline std::string microseconds(std::int64_t ns) {
  const std::string digits = std::to_string(ns % 1000);
  return std::to_string(ns / 1000) + '.' + std::string(3 - digits.size(), '0') + digits;
}

}  // namespace detail

inline void write_chrome(const Trace& trace, std::ostream& out) {
  out << R"({"displayTimeUnit":"ms","traceEvents":[)" << '\n'
      << R"({"name":"process_name","ph":"M","pid":1,"tid":1,"args":{"name":"diecast"}})";
  for (const Trace::Span& span : trace.spans()) {
    out << ",\n{\"name\":" << json_text(span.name) << ",\"cat\":\"" << (span.stage ? "stage" : "span")
        << "\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":" << detail::microseconds(span.begin)
        << ",\"dur\":" << detail::microseconds(span.end - span.begin);
    if (span.index >= 0) out << ",\"args\":{\"index\":" << span.index << '}';
    out << '}';
  }
  out << "\n]}\n";
}

}  // namespace diecast
