// `serve`: the engine over HTTP. Boost.Beast is compiled in the library diecast::compiled_serve.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include <diecast/serve/server.hpp>

#include "load.hpp"
#include "text.hpp"
#include "waiting.hpp"

namespace diecast::shell {

namespace {

// Each connection takes a file descriptor.
void allow_connections(int connections) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = static_cast<rlim_t>(connections) * 2 + 64;
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(wanted, limit.rlim_max));
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

int cache_tokens(const CommonOptions& common, const ServeOptions& options, const Spec& spec) {
  const int context = context_tokens(common, spec);
  if (!options.cache_tokens) return static_cast<int>(std::min<long long>(4LL * context, std::numeric_limits<int>::max() / 2));
  if (*options.cache_tokens < context) throw Error(fmt::format("--cache-tokens {} is not possible: one context alone has {} tokens", *options.cache_tokens, context));
  return *options.cache_tokens;
}

}  // namespace

int serve(const Compiled& compiled, const CommonOptions& common, const ServeOptions& options) {
  serve::ServerOptions server_options;
  server_options.host = options.host;
  server_options.port = options.port;
  server_options.api_key = options.api_key;
  server_options.connections = options.connections;
  server_options.answer_time = std::chrono::seconds(options.answer_seconds);
  server_options.stop_time = std::chrono::seconds(options.stop_seconds);
  if (!options.quiet) server_options.log = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };

  std::optional<Waiting> waiting("loading the model");
  Opened opened = open_checked(compiled, common);
  server_options.name = compiled.spec ? std::string(compiled.name) : opened.model.name;
  server_options.scheduler = {.cache_tokens = cache_tokens(common, options, opened.model.spec),
                              .context = context_tokens(common, opened.model.spec),
                              .running = options.running,
                              .step_tokens = std::max(options.running, options.step_tokens),
                              .waiting = options.waiting,
                              .draft = options.draft};
  if (opened.identity.whole.empty()) opened.identity = identity_of(opened.model);  // of a model file: reads every weight once
  server_options.fingerprint = opened.identity.whole;
  auto engine = std::make_shared<const Engine>(load(compiled, common, std::move(opened), server_options.scheduler.cache_tokens));
  waiting.reset();

  allow_connections(options.connections);
  serve::Server server(std::move(engine), server_options, [](const Engine& of, const std::vector<Message>& messages) { return render(of, messages); });
  fmt::print(stderr, "{} answers on http://{}:{}\n", server_options.name, options.host.find(':') == std::string::npos ? options.host : "[" + options.host + "]", server.port());
  return server.run(true) ? 0 : 1;
}

}  // namespace diecast::shell
