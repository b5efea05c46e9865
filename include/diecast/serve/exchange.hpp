// A request and its response, as the headers, the log and the numbers know them.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include <diecast/serve/completion.hpp>
#include <diecast/serve/host.hpp>
#include <diecast/serve/http_text.hpp>
#include <diecast/serve/routes.hpp>

namespace diecast::serve {

struct Exchange {
  using clock = Trace::clock;

  std::string id;
  std::string path;  // of an endpoint, else "other"
  bool keep_alive = false, chunked = true, head = false;
  clock::time_point arrival = clock::now();
  Json line = Json::object();  // of the log

  // What the header says; a client may name its request.
  void describe(const HttpRequest& request) {
    keep_alive = request.keep_alive();
    chunked = request.version() >= 11;
    head = request.method() == http::verb::head;
    path = known_path(path_of(request));
    const std::string_view given = header_of(request, "X-Request-Id");
    if (is_request_id(given)) id = std::string(given);
  }

  Headers headers(bool stopping) const {
    Headers all{{"X-Request-Id", id}};
    if (!keep_alive || stopping) all.emplace_back("Connection", "close");
    else if (!chunked) all.emplace_back("Connection", "keep-alive");
    return all;
  }

  // What an answer cost.
  void note(Host& host, const Completion& completion) {
    host.metrics.answered(*completion.known());
    const Usage& usage = completion.usage();
    line.update({{"prompt_tokens", usage.prompt_tokens},
                 {"completion_tokens", usage.completion_tokens},
                 {"cached_tokens", usage.cached_tokens},
                 {"finish_reason", completion.finish_reason()},
                 {"timing", timing_json(*completion.known())}});
  }

  // The end, however it came.
  void finish(Host& host, int status) const {
    host.metrics.request(path, status);
    const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - arrival).count();
    Json whole{{"id", id}, {"path", path}, {"status", status}, {"ms", milliseconds(took)}};
    whole.update(line);
    host.log("request", std::move(whole));
  }
};

}  // namespace diecast::serve
