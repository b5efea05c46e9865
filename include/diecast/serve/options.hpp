// What a server may use and how long it waits: every limit has a number here, and a sentence or a status when it is reached.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include <diecast/generate/scheduling.hpp>

namespace diecast::serve {

struct ServerOptions {
  std::string host = "127.0.0.1";  // an address of this machine; others than loopback only where somebody says so
  std::uint16_t port = 8080;       // 0: any that is free
  std::string api_key{};           // empty: everybody may ask
  std::string fingerprint{};       // the engine's identity
  std::string name{};              // of the model; empty: as its file says
  SchedulerOptions scheduler{};

  int connections = 1100;                         // more get 503
  int choices = 128;                              // answers to one request: prompts times n
  std::int64_t logprobs = 1 << 19;                // of one request: they are what makes an answer large
  std::size_t header_bytes = 16 << 10;            // 431
  std::size_t body_bytes = 4 << 20;               // 413
  std::size_t bodies_bytes = 64 << 20;            // of all requests that are being read: 503
  std::size_t unsent_bytes = 256 << 10;           // of an answer, behind 64 KiB that its client has not taken within `unsent_time`: then it is cancelled
  std::chrono::milliseconds idle_time{60'000};    // a connection between two requests: closed
  std::chrono::milliseconds header_time{10'000};  // 408
  std::chrono::milliseconds body_time{30'000};    // 408
  std::chrono::milliseconds write_time{30'000};   // 64 KiB of an answer: then it is cancelled however little waits behind them
  std::chrono::milliseconds unsent_time{2'000};
  std::chrono::milliseconds answer_time{0};       // from arrival to the answer's end: finish reason `deadline`; 0: no limit
  std::chrono::milliseconds stop_time{30'000};    // what runs may still take when the server stops

  std::function<void(const std::string& line)> log{};  // one JSON object without a newline; on the server's thread
};

}  // namespace diecast::serve
