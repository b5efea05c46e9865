// One connection: requests come one after the other, each is read, answered, logged and counted.
#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include <diecast/serve/answering.hpp>
#include <diecast/serve/exchange.hpp>
#include <diecast/serve/host.hpp>
#include <diecast/serve/http_text.hpp>
#include <diecast/serve/reading.hpp>
#include <diecast/serve/wire.hpp>

namespace diecast::serve {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, Host& host) : host_(host), wire_(std::make_shared<Wire>(std::move(socket))), reader_(host, *wire_), answering_(host, wire_, exchange_) {
    ++host_.metrics.connections;
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { --host_.metrics.connections; }

  asio::awaitable<void> run() {
    const auto self = shared_from_this();
    bool more = true;
    while (more) more = co_await serve_one();
    wire_->close();
  }
  // A connection too many: hears why, and that it may come back.
  asio::awaitable<void> refuse() {
    const auto self = shared_from_this();
    std::string text = too_many();
    co_await wire_->write(std::move(text), {std::chrono::seconds(1), std::chrono::seconds(1)}, [] { return false; });
    co_await wire_->linger();
  }

  void wake() { wire_->wake(); }
  void abort() { wire_->close(); }

 private:
  std::string too_many() const {
    const HttpError error = busy(503, "the server has " + std::to_string(host_.options().connections) + " connections, more it does not take");
    return response_text(error_response(error), {{"Connection", "close"}}, true);
  }

  asio::awaitable<bool> serve_one() {
    Parser parser;
    exchange_ = {};
    std::optional<HttpError> error;
    try {
      const bool came = co_await reader_.read(parser, served_);
      if (!came) {
        reader_.over();
        co_return false;
      }
    } catch (const HttpError& refused) {
      error = refused;
    }
    const bool whole = parser.is_done() && !error;  // else what follows is no request
    exchange_.arrival = Exchange::clock::now();
    exchange_.id = host_.new_id();
    if (parser.is_header_done()) exchange_.describe(parser.get());
    if (!whole) exchange_.keep_alive = false;
    std::optional<Response> response;
    if (!error) {
      try {
        response = co_await answering_.answer(parser.get(), [this] { reader_.forget_body(); });
      } catch (const Error& refused) {
        error = http_error(refused);
      } catch (const std::bad_alloc&) {
        error = busy(503, "the server has too little memory for this request");
      } catch (const std::exception& unexpected) {
        error = HttpError(500, unexpected.what());
      }
    }
    reader_.forget_body();
    served_ = true;
    if (error) {
      response = error_response(*error);
      exchange_.line["error"] = error->what();
    }
    // Temporaries with a destructor stand in names of their own before a co_await: g++ 12 destroys some of them twice.
    bool sent = true;
    if (response) {
      std::string text = response_text(*response, exchange_.headers(host_.stopping), !exchange_.head);
      sent = co_await wire_->write(std::move(text), host_.patience(), [] { return false; });
      exchange_.finish(host_, response->status);
    }
    if (!whole && sent) co_await wire_->linger();
    reader_.over();
    co_return sent && exchange_.keep_alive && !host_.stopping && !wire_->ended();
  }

  Host& host_;
  std::shared_ptr<Wire> wire_;
  Exchange exchange_;
  RequestReader reader_;
  Answering answering_;
  bool served_ = false;
};

}  // namespace diecast::serve
