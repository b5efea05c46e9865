// What all connections of a server share, on its thread: the service, the numbers, the log, and whether it stops.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include <diecast/serve/beast.hpp>
#include <diecast/serve/metrics.hpp>
#include <diecast/serve/service.hpp>
#include <diecast/serve/wire.hpp>

namespace diecast::serve {

struct Host {
  explicit Host(Service& of) : service(of) {}

  // Counts a connection among those that have a request.
  class Busy {
   public:
    explicit Busy(Host& host) : host_(host) {}
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    ~Busy() {
      if (on_) --host_.busy;
    }
    void set(bool on) {
      if (on_ == on) return;
      on_ = on;
      host_.busy += on ? 1 : -1;
      if (host_.busy == 0 && host_.idle) host_.idle();
    }

   private:
    Host& host_;
    bool on_ = false;
  };

  // Counts the bytes of a body that is being read.
  class BodyBytes {
   public:
    explicit BodyBytes(Host& host) : host_(host) {}
    BodyBytes(const BodyBytes&) = delete;
    BodyBytes& operator=(const BodyBytes&) = delete;
    ~BodyBytes() { hold(0); }
    // Throws where all requests together have too many.
    void hold(std::size_t bytes) {
      host_.body_bytes += bytes - held_;  // unsigned: wraps back
      held_ = bytes;
      if (bytes > 0 && host_.body_bytes > host_.options().bodies_bytes) throw serve::busy(503, "the server reads other long requests");
    }

   private:
    Host& host_;
    std::size_t held_ = 0;
  };

  Service& service;
  Metrics metrics{};
  asio::thread_pool pool{1};    // reads long requests: template and tokenizer of a long prompt take milliseconds
  std::size_t body_bytes = 0;   // of requests that are being read
  int busy = 0;                 // connections with a request
  bool stopping = false, broken = false;  // broken: the scheduler's thread has ended
  bool loopback = true;         // only this machine can connect
  std::function<void()> idle{};  // called when the last request is over

  const ServerOptions& options() const { return service.options(); }
  Wire::Patience patience() const { return {options().write_time, options().unsent_time}; }

  // 16 hexadecimal digits: of this process, and counted.
  std::string new_id() {
    std::uint64_t value = ++requests_ * 0x9E3779B97F4A7C15 ^ salt_;
    std::string id;
    for (int i = 0; i < 16; ++i, value >>= 4) id += "0123456789abcdef"[value & 15];
    return id;
  }

  void log(std::string_view event, Json more) const {
    if (!options().log) return;
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
    Json line{{"time", static_cast<double>(now) / 1e3}, {"event", event}};
    line.update(more);
    options().log(dump(line));
  }

 private:
  std::uint64_t requests_ = 0, salt_ = std::uint64_t{std::random_device()()} << 32 | std::random_device()();
};

}  // namespace diecast::serve
