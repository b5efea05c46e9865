// One connection: requests come one after the other, each is read within its limits, answered, logged and counted.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <diecast/serve/explain.hpp>
#include <diecast/serve/host.hpp>
#include <diecast/serve/http_text.hpp>
#include <diecast/serve/page/page.hpp>
#include <diecast/serve/routes.hpp>
#include <diecast/serve/wire.hpp>

namespace diecast::serve {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, Host& host) : host_(host), wire_(std::make_shared<Wire>(std::move(socket))) { ++host_.metrics.connections; }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() {
    hold(0);
    if (busy_) --host_.busy;
    --host_.metrics.connections;
  }

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

  bool busy_now() const { return busy_; }
  void wake() { wire_->wake(); }
  void abort() { wire_->close(); }

 private:
  using clock = Wire::clock;

  // What is known of the request that is being answered; its line in the log.
  struct Exchange {
    std::string id;
    std::string path;   // of an endpoint, else "other"
    bool keep_alive = false, chunked = true, head = false;
    clock::time_point arrival = clock::now();
    Json line = Json::object();
  };

  const ServerOptions& options() const { return host_.options(); }

  std::string too_many() const {
    const HttpError error = busy(503, "the server has " + std::to_string(options().connections) + " connections, more it does not take");
    return response_text(error_response(error), {{"Connection", "close"}}, true);
  }

  asio::awaitable<bool> serve_one() {
    Parser parser;
    parser.eager(true);
    parser.header_limit(static_cast<std::uint32_t>(options().header_bytes));
    parser.body_limit(options().body_bytes);
    exchange_ = {};
    std::optional<HttpError> error;
    std::optional<Response> response;
    try {
      const bool came = co_await read(parser);
      if (!came) {
        be_busy(false);
        co_return false;
      }
    } catch (const HttpError& refused) {
      error = refused;
    }
    const bool whole = parser.is_done();
    exchange_.arrival = clock::now();
    exchange_.id = host_.new_id();
    if (parser.is_header_done()) describe(parser.get());
    if (!whole) exchange_.keep_alive = false;
    if (!error) {
      try {
        response = co_await answer(parser.get());
      } catch (const Error& refused) {
        error = http_error(refused);
      } catch (const std::bad_alloc&) {
        error = busy(503, "the server has too little memory for this request");
      } catch (const std::exception& unexpected) {
        error = HttpError(500, unexpected.what());
      }
    }
    hold(0);
    served_ = true;
    if (error) {
      response = error_response(*error);
      exchange_.line["error"] = error->what();
    }
    bool sent = true;
    if (response) {
      std::string text = response_text(*response, headers(), !exchange_.head);
      sent = co_await write(std::move(text));
    }
    if (response) finish(response->status);
    if (!whole && sent) co_await wire_->linger();
    be_busy(false);
    co_return sent && exchange_.keep_alive && !host_.stopping && !wire_->ended();
  }

  // ---- reading

  // The next request; false where the client closes the connection, or is idle for too long, before it begins one.
  asio::awaitable<bool> read(Parser& parser) {
    std::string& in = wire_->in();
    auto deadline = clock::now() + options().idle_time;
    bool begun = false, header_done = false;
    while (true) {
      if (!in.empty()) {
        if (!begun) deadline = clock::now() + options().header_time;
        begun = true;
        be_busy(true);
        error_code error;
        const std::size_t used = parser.put(asio::buffer(in), error);
        in.erase(0, used);
        hold(parser.get().body().size());
        if (!header_done && parser.is_header_done()) {
          header_done = true;
          deadline = clock::now() + options().body_time;
          if (!parser.is_done() && boost::beast::iequals(parser.get()[http::field::expect], "100-continue")) {
            std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
            const bool sent = co_await write(std::move(go_on));
            if (!sent) co_return false;
          }
        }
        if (parser.is_done()) co_return true;
        if (error && error != http::error::need_more) throw refusal(error);
        if (used > 0 && !in.empty()) continue;
      }
      const std::size_t had = in.size();
      wire_->read_on();
      const bool came = co_await wire_->until([&] { return in.size() > had || wire_->ended() || (!begun && host_.stopping && served_); }, deadline);
      if (in.size() > had) continue;
      if (came || !begun) co_return false;
      throw HttpError(408, header_done ? "the request's body did not come within " + seconds(options().body_time) : "the request's header did not come within " + seconds(options().header_time));
    }
  }
  HttpError refusal(const error_code& error) const {
    if (error == http::error::body_limit) return {413, "the request's body is longer than " + std::to_string(options().body_bytes) + " bytes"};
    if (error == http::error::header_limit) return {431, "the request's header is longer than " + std::to_string(options().header_bytes) + " bytes"};
    return {400, "this is no HTTP request: " + error.message()};
  }
  static std::string seconds(std::chrono::milliseconds time) { return text_of(static_cast<double>(time.count()) / 1e3) + " s"; }

  // Counts the bytes of requests that are being read.
  void hold(std::size_t bytes) {
    host_.body_bytes += bytes - held_;  // unsigned: wraps back
    held_ = bytes;
    if (bytes > 0 && host_.body_bytes > options().bodies_bytes) throw busy(503, "the server reads other long requests");
  }
  void be_busy(bool on) {
    if (busy_ == on) return;
    busy_ = on;
    host_.busy += on ? 1 : -1;
    if (host_.busy == 0 && host_.idle) host_.idle();
  }

  void describe(const HttpRequest& request) {
    exchange_.keep_alive = request.keep_alive();
    exchange_.chunked = request.version() >= 11;
    exchange_.head = request.method() == http::verb::head;
    exchange_.path = known_path(path_of(request));
    const auto given = request.find("X-Request-Id");
    if (given != request.end() && is_request_id(std::string_view(given->value().data(), given->value().size()))) exchange_.id = std::string(given->value().data(), given->value().size());
  }

  // ---- answering: a response, or nothing where it is written already

  asio::awaitable<std::optional<Response>> answer(HttpRequest& request) {
    check_access(request, options(), host_.loopback);
    const std::string_view path = path_of(request);
    const Endpoint endpoint = endpoint_of(request, path);
    std::string& body = request.body();
    Service& service = host_.service;
    switch (endpoint) {
      case Endpoint::page: co_return page_response();
      case Endpoint::health: co_return status_response("ok");
      case Endpoint::ready:
        if (host_.stopping || host_.broken) throw busy(503, host_.broken ? "the scheduler has ended" : "the server is stopping", 5);
        co_return status_response("ready");
      case Endpoint::metrics:
        co_return metrics_response();
      case Endpoint::models: co_return json_response(service.models());
      case Endpoint::model: co_return json_response(service.model(path.substr(std::string_view("/v1/models/").size())));
      case Endpoint::tokenize: {
        const auto work = [&service](std::string_view text) { return service.tokenize(text); };
        const Json json = co_await elsewhere(body, work);
        co_return json_response(json);
      }
      case Endpoint::detokenize: co_return json_response(service.detokenize(body));
      case Endpoint::explain: {
        std::optional<Response> response = co_await explain(body);
        co_return response;
      }
      case Endpoint::chat:
      case Endpoint::completions: {
        std::optional<Response> response = co_await complete(body, endpoint == Endpoint::chat);
        co_return response;
      }
    }
    throw HttpError(500, "an endpoint that nobody answers");
  }

  // g++ 12 cannot have lists in braces inside a coroutine.
  static Response status_response(const char* status) { return json_response({{"status", status}}); }
  Response metrics_response() const {
    return {.type = "text/plain; version=0.0.4", .body = host_.metrics.text(host_.service.scheduler().stats(), options().scheduler.waiting)};
  }

  // Short requests are read here, since a change of threads costs more; long ones do not hold up the others. Body and work outlive the wait: the
  // frame that waits owns them, and it goes on only when the work is done.
  template <class Work>
  asio::awaitable<std::invoke_result_t<Work, std::string_view>> elsewhere(const std::string& body, const Work& work) {
    using Result = std::invoke_result_t<Work, std::string_view>;
    if (body.size() < (16 << 10)) co_return work(body);
    const auto there = [](const std::string& text, const Work& w) -> asio::awaitable<Result> { co_return w(text); };
    asio::awaitable<Result> done = there(body, work);
    Result result = co_await asio::co_spawn(host_.pool, std::move(done), asio::use_awaitable);
    co_return result;
  }

  std::shared_ptr<Mailbox> mailbox() {
    const std::weak_ptr<Wire> wire = wire_;
    return std::make_shared<Mailbox>([wire, executor = wire_->executor()] {
      asio::post(executor, [wire] {
        if (const auto alive = wire.lock()) alive->wake();
      });
    });
  }
  asio::awaitable<bool> mail_came(const Completion& completion) {
    wire_->watch(true);
    co_await wire_->until([&] { return !completion.mail().empty() || wire_->ended(); }, Wire::never());
    wire_->watch(false);
    co_return !wire_->ended();
  }

  asio::awaitable<std::optional<Response>> complete(std::string& body, bool chat) {
    const std::shared_ptr<Mailbox> mail = mailbox();
    const std::string id = exchange_.id;
    const auto arrival = exchange_.arrival;
    Service& service = host_.service;
    const auto work = [&service, &id, &mail, chat, arrival](std::string_view text) { return service.complete(text, chat, id, arrival, mail); };
    const std::unique_ptr<Completion> completion = co_await elsewhere(body, work);
    std::string().swap(body);  // the answer may take long
    hold(0);
    const Answering counted(host_.metrics);
    if (completion->streamed()) {
      co_await stream(*completion);
      co_return std::nullopt;
    }
    while (!completion->whole()) {
      const bool came = co_await mail_came(*completion);
      if (!came) {
        gone();
        co_return std::nullopt;
      }
      completion->take();
      if (completion->failed()) throw *completion->failed();
    }
    Response response = json_response(completion->response());
    response.headers.emplace_back("Server-Timing", server_timing(*completion->known()));
    note(*completion);
    co_return response;
  }

  // Headers leave with the first token: until then an error is still a status.
  asio::awaitable<void> stream(Completion& completion) {
    bool begun = false;
    while (!completion.over()) {
      if (!completion.pending()) {
        const bool came = co_await mail_came(completion);
        if (!came) co_return gone();
        completion.take();
      }
      if (!begun && completion.failed()) throw *completion.failed();
      std::string text = chunk_text(completion.next(), exchange_.chunked);
      if (completion.over() && exchange_.chunked) text += "0\r\n\r\n";
      if (text.empty()) continue;
      if (!begun) {
        Headers all = headers();
        all.emplace_back("Cache-Control", "no-store");
        all.emplace_back("Server-Timing", server_timing(*completion.known()));
        if (exchange_.chunked) all.emplace_back("Transfer-Encoding", "chunked");
        text = head_text(200, "text/event-stream", all) + text;
        begun = true;
      }
      const bool sent = co_await wire_->write(std::move(text), patience(), [&] { return completion.mail().bytes() > options().unsent_bytes; });
      if (!sent) co_return gone();
      completion.sent();
    }
    if (!exchange_.chunked) exchange_.keep_alive = false;
    note(completion);
    finish(200);
  }

  // A client that left; leaving this scope cancels what runs for it.
  void gone() {
    host_.metrics.gone();
    exchange_.keep_alive = false;
    exchange_.line["error"] = wire_->ended() && !wire_->gave_up() ? "the client left" : "the client does not read its answer";
    finish(499);
    wire_->close();
  }

  asio::awaitable<std::optional<Response>> explain(const std::string& body) {
    const std::shared_ptr<Mailbox> mail = mailbox();
    Service& service = host_.service;
    const auto arrival = exchange_.arrival;
    const auto work = [&service, &mail, arrival](std::string_view text) { return std::make_unique<Explanation>(service, text, arrival, mail); };
    const std::unique_ptr<Explanation> explanation = co_await elsewhere(body, work);
    while (!explanation->over()) {
      wire_->watch(true);
      co_await wire_->until([&] { return !mail->empty() || wire_->ended(); }, Wire::never());
      wire_->watch(false);
      if (wire_->ended()) {
        gone();
        co_return std::nullopt;
      }
      explanation->take();
    }
    co_return json_response(explanation->json());
  }

  struct Answering {
    explicit Answering(Metrics& of) : metrics(of) { ++metrics.answering; }
    Answering(const Answering&) = delete;
    Answering& operator=(const Answering&) = delete;
    ~Answering() { --metrics.answering; }
    Metrics& metrics;
  };

  // ---- writing, counting, logging

  Headers headers() const {
    Headers all{{"X-Request-Id", exchange_.id}};
    const bool stays = exchange_.keep_alive && !host_.stopping;
    if (!stays) all.emplace_back("Connection", "close");
    else if (!exchange_.chunked) all.emplace_back("Connection", "keep-alive");
    return all;
  }
  Wire::Patience patience() const { return {options().write_time, options().unsent_time}; }
  // Temporaries with a destructor stand in names of their own before a co_await: g++ 12 destroys some of them twice.
  asio::awaitable<bool> write(std::string bytes) {
    const bool sent = co_await wire_->write(std::move(bytes), patience(), [] { return false; });
    co_return sent;
  }
  void note(const Completion& completion) {
    host_.metrics.answered(*completion.known());
    const Usage& usage = completion.usage();
    exchange_.line.update({{"prompt_tokens", usage.prompt_tokens},
                           {"completion_tokens", usage.completion_tokens},
                           {"cached_tokens", usage.cached_tokens},
                           {"finish_reason", completion.finish_reason()},
                           {"timing", timing_json(*completion.known())}});
  }
  void finish(int status) {
    host_.metrics.request(exchange_.path, status);
    const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - exchange_.arrival).count();
    Json line{{"id", exchange_.id}, {"path", exchange_.path}, {"status", status}, {"ms", milliseconds(took)}};
    line.update(exchange_.line);
    host_.log("request", std::move(line));
  }

  Host& host_;
  std::shared_ptr<Wire> wire_;
  Exchange exchange_;
  std::size_t held_ = 0;
  bool busy_ = false, served_ = false;
};

}  // namespace diecast::serve
