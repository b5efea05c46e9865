// Accepts connections, runs the scheduler on a thread of its own, and stops in good order.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <diecast/serve/beast.hpp>
#include <diecast/serve/connection.hpp>
#include <diecast/serve/host.hpp>
#include <diecast/serve/server.hpp>
#include <diecast/serve/short_slices.hpp>

namespace diecast::serve {

class Listener final : public Serving {
 public:
  Listener(std::shared_ptr<const Engine> engine, Render render, ServerOptions options)
      : service_(std::move(engine), std::move(render), std::move(options)), host_(service_), acceptor_(io_), signals_(io_), patience_(io_), pause_(io_) {
    const ServerOptions& o = service_.options();
    error_code error;
    const asio::ip::address address = asio::ip::make_address(o.host == "localhost" ? "127.0.0.1" : o.host, error);
    if (error) throw Error("'" + o.host + "' is no address of a machine: 127.0.0.1 is this one alone, 0.0.0.0 every network of it");
    host_.loopback = address.is_loopback();
    const tcp::endpoint endpoint(address, o.port);
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) throw Error("port " + std::to_string(o.port) + " of " + o.host + " cannot be served: " + error.message());
    port_ = acceptor_.local_endpoint().port();
    host_.idle = [this] {
      if (host_.stopping) asio::post(io_, [this] { end_if_idle(); });
    };
  }

  std::uint16_t port() const override { return port_; }
  SchedulerStats stats() const override { return service_.scheduler().stats(); }
  void stop() override {
    asio::post(io_, [this] { begin_stop(); });
  }

  bool run(bool stop_on_signals) override {
    std::jthread steps([this](const std::stop_token& stop) { step(stop); });
    ask_for_short_slices();
    if (stop_on_signals) {
      signals_.add(SIGTERM);
      signals_.add(SIGINT);
      wait_for_signals();
    }
    asio::co_spawn(io_, accept(), asio::detached);
    host_.log("serving", {{"model", service_.name()}, {"host", service_.options().host}, {"port", port_}, {"fingerprint", service_.options().fingerprint}});
    io_.run();
    steps.request_stop();
    steps.join();
    host_.pool.join();
    host_.log("stopped", Json::object());
    return !host_.broken;
  }

 private:
  void step(const std::stop_token& stop) {
    std::string sentence;
    try {
      service_.scheduler().run(stop);
    } catch (const std::exception& error) {
      sentence = error.what();
    }
    if (sentence.empty()) return;
    asio::post(io_, [this, sentence] {
      host_.broken = true;
      host_.log("broken", {{"error", sentence}});
      begin_stop();
      begin_stop();
    });
  }

  asio::awaitable<void> accept() {
    const ServerOptions& o = service_.options();
    while (acceptor_.is_open()) {
      error_code error;
      tcp::socket socket = co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, error));
      if (!acceptor_.is_open()) co_return;
      if (error) {  // no file descriptor is left, perhaps
        host_.log("accept", {{"error", error.message()}});
        pause_.expires_after(std::chrono::milliseconds(100));
        co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, error));
        continue;
      }
      const int open = host_.metrics.connections;
      if (open >= 2 * o.connections) continue;  // so many are being refused already that not even a word is left
      auto connection = std::make_shared<Connection>(std::move(socket), host_);
      if (open >= o.connections) {
        asio::co_spawn(io_, [connection] { return connection->refuse(); }, asio::detached);
        continue;
      }
      connections_.insert(connection.get());
      asio::co_spawn(io_, [connection] { return connection->run(); }, [this, raw = connection.get()](const std::exception_ptr&) { connections_.erase(raw); });
    }
  }

  void wait_for_signals() {
    signals_.async_wait([this](const error_code& error, int signal) {
      if (error) return;
      host_.log("signal", {{"signal", signal}});
      begin_stop();
      wait_for_signals();
    });
  }

  void begin_stop() {
    if (host_.stopping) return end();
    host_.stopping = true;
    host_.log("stopping", {{"answering", host_.busy}});
    service_.scheduler().close();
    for (Connection* connection : connections_) connection->wake();
    patience_.expires_after(service_.options().stop_time);
    patience_.async_wait([this](const error_code& error) {
      if (!error) end();
    });
    end_if_idle();
  }
  void end_if_idle() {
    if (host_.stopping && host_.busy == 0) end();
  }
  void end() {
    error_code ignored;
    acceptor_.close(ignored);
    for (Connection* connection : connections_) connection->abort();
    io_.stop();
  }

  Service service_;
  Host host_;
  asio::io_context io_{1};
  tcp::acceptor acceptor_;
  asio::signal_set signals_;
  asio::steady_timer patience_, pause_;
  std::uint16_t port_ = 0;
  std::set<Connection*> connections_;  // those that run
};

namespace detail {

template <class>
std::unique_ptr<Serving> open_server(std::shared_ptr<const Engine> engine, Render render, ServerOptions options) {
  return std::make_unique<Listener>(std::move(engine), std::move(render), std::move(options));
}

}  // namespace detail

}  // namespace diecast::serve
