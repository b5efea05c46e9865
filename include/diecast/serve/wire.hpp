// A socket of one client, of the server's thread. One thing to wait on: bytes that came, room for more, a deadline, or somebody who calls wake().
// While an answer is made it keeps reading, so that a client that leaves is noticed at once; what it reads ahead is the next request's, and bounded.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <diecast/serve/beast.hpp>

namespace diecast::serve {

class Wire : public std::enable_shared_from_this<Wire> {
 public:
  using clock = std::chrono::steady_clock;
  static constexpr auto never = clock::time_point::max;

  explicit Wire(tcp::socket socket) : socket_(std::move(socket)), wake_(socket_.get_executor()) {
    error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    socket_.non_blocking(true, ignored);
  }

  std::string& in() { return in_; }          // what came and was not used yet
  bool ended() const { return ended_; }      // nothing more will come: the client is gone
  bool gave_up() const { return gave_up_; }  // the client did not take what was written
  asio::any_io_executor executor() { return socket_.get_executor(); }

  void wake() { wake_.cancel(); }

  // Whether the condition came true before the deadline. `condition` is asked after every event.
  template <class Condition>
  asio::awaitable<bool> until(Condition condition, clock::time_point deadline) {
    while (!condition()) {
      if (clock::now() >= deadline) co_return false;
      wake_.expires_at(deadline);
      error_code ignored;
      co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    co_return true;
  }

  // Starts reading on where nobody does.
  void read_on() {
    if (reading_ || ended_ || in_.size() >= most_ahead) return;
    reading_ = true;
    socket_.async_read_some(asio::buffer(chunk_), [self = shared_from_this()](const error_code& error, std::size_t count) {
      self->reading_ = false;
      self->in_.append(self->chunk_.data(), count);
      if (error) self->ended_ = true;
      if (self->watching_) self->read_on();
      self->wake();
    });
  }
  void watch(bool on) {
    watching_ = on;
    if (on) read_on();
  }

  // How long 64 KiB of an answer may lie before the socket has taken them, and how long while much more waits behind them.
  struct Patience {
    clock::duration long_time, short_time;
  };

  // Whether all bytes were handed to the socket. Only the client is to blame where not: what counts is the time in which the socket was full, asked anew
  // before the server gives up, so that a server that comes late itself loses nobody. `much_waits`: whether the short time counts.
  template <class Condition>
  asio::awaitable<bool> write(std::string bytes, Patience patience, Condition much_waits) {
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t end = (std::min)(at + slice, bytes.size());
      const auto began = clock::now();
      while (at < end) {
        error_code error;
        at += socket_.write_some(asio::buffer(bytes.data() + at, end - at), error);
        if (!error) continue;
        if (error != asio::error::would_block && error != asio::error::try_again) {
          ended_ = true;
          co_return false;
        }
        const auto lies = clock::now() - began;
        if (lies >= patience.long_time || (lies >= patience.short_time && much_waits())) {
          gave_up_ = true;
          close();
          co_return false;
        }
        const auto wait = lies < patience.short_time ? patience.short_time - lies : (std::min)(patience.short_time, patience.long_time - lies);
        await_room();
        co_await until([this] { return !full_; }, clock::now() + wait);
      }
    }
    co_return socket_.is_open();
  }

  // Lets the client read what was written although it still sends: reads for a second what nobody wants, then closes.
  asio::awaitable<void> linger() {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    const auto deadline = clock::now() + std::chrono::seconds(1);
    std::size_t left = std::size_t{8} << 20;
    bool goes_on = !ended_;
    while (goes_on && left > 0) {
      left -= (std::min)(left, in_.size());
      in_.clear();
      read_on();
      goes_on = co_await until([this] { return !in_.empty() || ended_; }, deadline);
      goes_on = goes_on && !ended_;
    }
    close();
  }

  void close() {
    error_code ignored;
    socket_.close(ignored);
    ended_ = true;
    wake();
  }

 private:
  static constexpr std::size_t most_ahead = 64 << 10, slice = 64 << 10;

  void await_room() {
    if (std::exchange(full_, true)) return;
    socket_.async_wait(tcp::socket::wait_write, [self = shared_from_this()](const error_code&) {
      self->full_ = false;
      self->wake();
    });
  }

  tcp::socket socket_;
  asio::steady_timer wake_;
  std::array<char, 8192> chunk_{};
  std::string in_;
  bool reading_ = false, watching_ = false;
  bool full_ = false;  // the socket takes nothing more just now
  bool ended_ = false, gave_up_ = false;
};

}  // namespace diecast::serve
