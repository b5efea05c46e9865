// What each endpoint does with a request. Work that takes long is done on another thread; answers of the model are waited for.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <diecast/serve/exchange.hpp>
#include <diecast/serve/explain.hpp>
#include <diecast/serve/host.hpp>
#include <diecast/serve/http_text.hpp>
#include <diecast/serve/page/page.hpp>
#include <diecast/serve/routes.hpp>
#include <diecast/serve/wire.hpp>

namespace diecast::serve {

class Answering {
 public:
  Answering(Host& host, std::shared_ptr<Wire> wire, Exchange& exchange) : host_(host), wire_(std::move(wire)), exchange_(exchange) {}

  // A response, or nothing where it is written already. `body_used`: called when the body need not be kept any more.
  template <class BodyUsed>
  asio::awaitable<std::optional<Response>> answer(HttpRequest& request, BodyUsed body_used) {
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
      case Endpoint::metrics: co_return metrics_response();
      case Endpoint::models: co_return json_response(service.models());
      case Endpoint::model: co_return json_response(service.model(path.substr(std::string_view("/v1/models/").size())));
      case Endpoint::tokenize: {
        const auto work = [&service, &body] { return json_response(service.tokenize(body)); };
        Response response = co_await reading(body, work);
        co_return response;
      }
      case Endpoint::detokenize: {
        const auto work = [&service, &body] { return json_response(service.detokenize(body)); };
        Response response = co_await reading(body, work);
        co_return response;
      }
      case Endpoint::explain: {
        std::optional<Response> response = co_await explain(body);
        co_return response;
      }
      case Endpoint::chat:
      case Endpoint::completions: {
        std::optional<Response> response = co_await complete(body, endpoint == Endpoint::chat, body_used);
        co_return response;
      }
    }
    throw HttpError(500, "an endpoint that nobody answers");
  }

 private:
  const ServerOptions& options() const { return host_.options(); }

  // g++ 12 cannot have lists in braces inside a coroutine.
  static Response status_response(const char* status) { return json_response({{"status", status}}); }
  Response metrics_response() const {
    return {.type = "text/plain; version=0.0.4", .body = host_.metrics.text(host_.service.scheduler().stats(), options().scheduler.waiting)};
  }

  // What the work refers to outlives the wait: the frame that waits owns it, and goes on only when the work is done.
  template <class Work>
  asio::awaitable<std::invoke_result_t<Work>> elsewhere(const Work& work) {
    using Result = std::invoke_result_t<Work>;
    const auto there = [](const Work& w) -> asio::awaitable<Result> { co_return w(); };
    asio::awaitable<Result> done = there(work);
    Result result = co_await asio::co_spawn(host_.pool, std::move(done), asio::use_awaitable);
    co_return result;
  }
  // Short requests are read here, since a change of threads costs more; long ones do not hold up the others.
  template <class Work>
  asio::awaitable<std::invoke_result_t<Work>> reading(const std::string& body, const Work& work) {
    if (body.size() < (16 << 10)) co_return work();
    std::invoke_result_t<Work> result = co_await elsewhere(work);
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
  // False where the client leaves before.
  asio::awaitable<bool> mail_came(const Mailbox& mail) {
    wire_->watch(true);
    co_await wire_->until([&] { return !mail.empty() || wire_->ended(); }, Wire::never());
    wire_->watch(false);
    co_return !wire_->ended();
  }

  template <class BodyUsed>
  asio::awaitable<std::optional<Response>> complete(std::string& body, bool chat, BodyUsed body_used) {
    const std::shared_ptr<Mailbox> mail = mailbox();
    Service& service = host_.service;
    const auto work = [&] { return service.complete(body, chat, exchange_.id, exchange_.arrival, mail); };
    const std::unique_ptr<Completion> completion = co_await reading(body, work);
    std::string().swap(body);  // the answer may take long
    body_used();
    const Metrics::Answering counted(host_.metrics);
    if (completion->streamed()) {
      co_await stream(*completion);
      co_return std::nullopt;
    }
    while (!completion->whole()) {
      const bool came = co_await mail_came(*mail);
      if (!came) {
        gone();
        co_return std::nullopt;
      }
      completion->take();
      if (completion->failed()) throw *completion->failed();
    }
    Response response = json_response(completion->response());
    response.headers.emplace_back("Server-Timing", server_timing(*completion->known()));
    exchange_.note(host_, *completion);
    co_return response;
  }

  // Headers leave with the first token: until then an error is a status.
  asio::awaitable<void> stream(Completion& completion) {
    bool begun = false;
    while (!completion.over()) {
      if (!completion.pending()) {
        const bool came = co_await mail_came(completion.mail());
        if (!came) co_return gone();
        completion.take();
      }
      if (!begun && completion.failed()) throw *completion.failed();
      std::string text = chunk_text(completion.next(), exchange_.chunked);
      if (completion.over() && exchange_.chunked) text += "0\r\n\r\n";
      if (text.empty()) continue;
      if (!begun && !exchange_.chunked) exchange_.keep_alive = false;  // its end is the connection's, and the header says so
      if (!begun) text = stream_head(completion) + text;
      begun = true;
      const bool sent = co_await wire_->write(std::move(text), host_.patience(), [&] { return completion.mail().bytes() > options().unsent_bytes; });
      if (!sent) co_return gone();
      completion.sent();
    }
    exchange_.note(host_, completion);
    exchange_.finish(host_, 200);
  }
  std::string stream_head(const Completion& completion) const {
    Headers all = exchange_.headers(host_.stopping);
    all.emplace_back("Cache-Control", "no-store");
    all.emplace_back("Server-Timing", server_timing(*completion.known()));
    if (exchange_.chunked) all.emplace_back("Transfer-Encoding", "chunked");
    return head_text(200, "text/event-stream", all);
  }

  // A client that left; leaving this scope cancels what runs for it.
  void gone() {
    host_.metrics.gone();
    exchange_.keep_alive = false;
    exchange_.line["error"] = wire_->ended() && !wire_->gave_up() ? "the client left" : "the client does not read its answer";
    exchange_.finish(host_, 499);
    wire_->close();
  }

  asio::awaitable<std::optional<Response>> explain(const std::string& body) {
    const std::shared_ptr<Mailbox> mail = mailbox();
    Service& service = host_.service;
    const auto begin = [&] { return std::make_unique<Explanation>(service, body, exchange_.arrival, mail); };
    const std::unique_ptr<Explanation> explanation = co_await reading(body, begin);
    while (!explanation->over()) {
      const bool came = co_await mail_came(*mail);
      if (!came) {
        gone();
        co_return std::nullopt;
      }
      explanation->take();
    }
    const auto end = [&] { return json_response(explanation->json()); };
    Response response = co_await elsewhere(end);
    co_return response;
  }

  Host& host_;
  std::shared_ptr<Wire> wire_;
  Exchange& exchange_;
};

}  // namespace diecast::serve
