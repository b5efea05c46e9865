// A socket of one client, of the server's thread. One thing to wait on: bytes that came, bytes that left, a deadline, or somebody who calls wake().
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

  // Whether all bytes were handed to the socket, each 64 KiB of them within `patience`, and before `give_up()`.
  template <class Condition>
  asio::awaitable<bool> write(std::string bytes, clock::duration patience, Condition give_up) {
    out_ = std::move(bytes);
    for (std::size_t at = 0; at < out_.size() && socket_.is_open(); at += slice) {
      writing_ = true;
      asio::async_write(socket_, asio::buffer(out_.data() + at, (std::min)(slice, out_.size() - at)), [self = shared_from_this()](const error_code& error, std::size_t) {
        self->writing_ = false;
        if (error) self->ended_ = self->broken_ = true;
        self->wake();
      });
      co_await until([&] { return !writing_ || give_up(); }, clock::now() + patience);
      if (!writing_) {
        if (broken_) co_return false;
        continue;
      }
      gave_up_ = true;
      close();
      co_await until([&] { return !writing_; }, never());
      co_return false;
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

  tcp::socket socket_;
  asio::steady_timer wake_;
  std::array<char, 8192> chunk_{};
  std::string in_, out_;
  bool reading_ = false, writing_ = false, watching_ = false;
  bool ended_ = false, broken_ = false, gave_up_ = false;  // nothing more comes; nothing more can be sent
};

}  // namespace diecast::serve
