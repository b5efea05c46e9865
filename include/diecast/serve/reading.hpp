// The next request of a connection, read within its limits of bytes and of time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include <boost/beast/core/string.hpp>

#include <diecast/serve/host.hpp>
#include <diecast/serve/wire.hpp>
#include <diecast/text.hpp>

namespace diecast::serve {

class RequestReader {
 public:
  using clock = Wire::clock;

  RequestReader(Host& host, Wire& wire) : host_(host), wire_(wire), body_(host), busy_(host) {}

  // False where the client closes the connection, or is idle for too long, before it begins one. `served`: it is not the connection's first.
  asio::awaitable<bool> read(Parser& parser, bool served) {
    parser.eager(true);
    parser.header_limit(static_cast<std::uint32_t>(options().header_bytes));
    parser.body_limit(options().body_bytes);
    std::string& in = wire_.in();
    auto deadline = clock::now() + options().idle_time;
    bool begun = false, header_done = false;
    while (true) {
      if (!in.empty()) {
        if (!begun) deadline = clock::now() + options().header_time;
        begun = true;
        busy_.set(true);
        error_code error;
        const std::size_t used = parser.put(asio::buffer(in), error);
        in.erase(0, used);
        body_.hold(parser.get().body().size());
        if (!header_done && parser.is_header_done()) {
          header_done = true;
          check_coding(parser.get());
          deadline = clock::now() + options().body_time;
          if (!parser.is_done() && boost::beast::iequals(parser.get()[http::field::expect], "100-continue")) {
            std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
            const bool sent = co_await wire_.write(std::move(go_on), host_.patience(), [] { return false; });
            if (!sent) co_return false;
          }
        }
        if (parser.is_done()) co_return true;
        if (error && error != http::error::need_more) throw refusal(error);
        if (used > 0 && !in.empty()) continue;
      }
      const std::size_t had = in.size();
      wire_.read_on();
      const bool came = co_await wire_.until([&] { return in.size() > had || wire_.ended() || (!begun && host_.stopping && served); }, deadline);
      if (in.size() > had) continue;
      if (came || !begun) co_return false;
      throw HttpError(408, header_done ? "the request's body did not come within " + seconds(options().body_time) : "the request's header did not come within " + seconds(options().header_time));
    }
  }

  // The request's body was used, or thrown away.
  void forget_body() { body_.hold(0); }
  // The request is answered.
  void over() { busy_.set(false); }

 private:
  const ServerOptions& options() const { return host_.options(); }

  // Beast takes a body in another coding for none; it would be read as the next request.
  static void check_coding(const HttpRequest& request) {
    const auto coding = request[http::field::transfer_encoding];
    if (!coding.empty() && !boost::beast::iequals(coding, "chunked")) throw HttpError(400, "a body comes whole or in chunks, not in another transfer coding");
  }
  HttpError refusal(const error_code& error) const {
    if (error == http::error::body_limit) return {413, "the request's body is longer than " + std::to_string(options().body_bytes) + " bytes"};
    if (error == http::error::header_limit) return {431, "the request's header is longer than " + std::to_string(options().header_bytes) + " bytes"};
    return {400, "this is no HTTP request: " + error.message()};
  }
  static std::string seconds(std::chrono::milliseconds time) { return text_of(static_cast<double>(time.count()) / 1e3) + " s"; }

  Host& host_;
  Wire& wire_;
  Host::BodyBytes body_;
  Host::Busy busy_;
};

}  // namespace diecast::serve
