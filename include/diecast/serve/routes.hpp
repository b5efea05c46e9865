// Which endpoint a request means, and whether it may: methods, the API key, and the two headers by which a browser says on whose behalf it asks.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <diecast/serve/beast.hpp>
#include <diecast/serve/http_error.hpp>
#include <diecast/serve/http_text.hpp>
#include <diecast/serve/options.hpp>

namespace diecast::serve {

enum class Endpoint { page, health, ready, metrics, models, model, tokenize, detokenize, explain, chat, completions };

struct Route {
  std::string_view path;
  bool post;
  Endpoint endpoint;
};
inline constexpr std::array<Route, 10> routes{{{"/", false, Endpoint::page},
                                               {"/health", false, Endpoint::health},
                                               {"/ready", false, Endpoint::ready},
                                               {"/metrics", false, Endpoint::metrics},
                                               {"/v1/models", false, Endpoint::models},
                                               {"/tokenize", true, Endpoint::tokenize},
                                               {"/detokenize", true, Endpoint::detokenize},
                                               {"/path/explain", true, Endpoint::explain},
                                               {"/v1/chat/completions", true, Endpoint::chat},
                                               {"/v1/completions", true, Endpoint::completions}}};

inline std::string_view path_of(const HttpRequest& request) {
  const std::string_view target(request.target().data(), request.target().size());
  return target.substr(0, target.find('?'));
}
// name: an http::field or its text
template <class Name>
std::string_view header_of(const HttpRequest& request, Name name) {
  const auto value = request[name];
  return {value.data(), value.size()};
}

// Of the log and the metrics: no more names than endpoints.
inline std::string known_path(std::string_view path) {
  if (path.starts_with("/v1/models/")) return "/v1/models";
  return std::any_of(routes.begin(), routes.end(), [&](const Route& route) { return route.path == path; }) ? std::string(path) : "other";
}

// A client may name its request, if the name cannot hurt a log.
inline bool is_request_id(std::string_view id) {
  const auto harmless = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.'; };
  return !id.empty() && id.size() <= 64 && std::all_of(id.begin(), id.end(), harmless);
}

inline Endpoint endpoint_of(const HttpRequest& request, std::string_view path) {
  const bool model = path.starts_with("/v1/models/");
  const auto route = std::find_if(routes.begin(), routes.end(), [&](const Route& one) { return one.path == path; });
  if (!model && route == routes.end()) {
    std::string paths;
    for (const Route& one : routes) paths += (paths.empty() ? "" : ", ") + std::string(one.path);
    throw HttpError(404, "there is nothing at this path; there is: " + paths);
  }
  const bool post = !model && route->post;
  const bool is_get = request.method() == http::verb::get || request.method() == http::verb::head;
  if (post ? request.method() != http::verb::post : !is_get) {
    HttpError error(405, std::string("this path takes ") + (post ? "POST" : "GET") + " alone");
    error.allow = post ? "POST" : "GET, HEAD";
    throw error;
  }
  return model ? Endpoint::model : route->endpoint;
}

// A page of another site must not use a reader's own server through their browser: a browser names the page's site in Origin, and the name by which
// it found this server in Host (a name that somebody points at 127.0.0.1 is not this machine's).
inline void check_access(const HttpRequest& request, const ServerOptions& options, bool loopback) {
  const std::string_view host = header_of(request, http::field::host), origin = header_of(request, http::field::origin);
  if (!origin.empty() && origin != "http://" + std::string(host) && origin != "https://" + std::string(host)) throw HttpError(403, "this server answers no pages of other sites");
  if (loopback && !host.empty()) {
    const std::string_view name = host.starts_with('[') ? host.substr(0, host.find(']') + 1) : host.substr(0, host.find(':'));
    const bool numbers = name.starts_with("127.") && name.find_first_not_of("0123456789.") == std::string_view::npos;
    if (name != "localhost" && !numbers && name != "[::1]" && name != options.host) throw HttpError(403, "this server answers as localhost alone, not as another name");
  }
  const std::string_view path = path_of(request);
  if (options.api_key.empty() || path == "/" || path == "/health" || path == "/ready") return;
  const std::string_view given = header_of(request, http::field::authorization);
  constexpr std::string_view bearer = "Bearer ";
  if (!given.starts_with(bearer) || !same_secret(given.substr(bearer.size()), options.api_key)) throw HttpError(401, "the API key is missing or wrong (Authorization: Bearer KEY)");
}

}  // namespace diecast::serve
