// What goes wrong with a request, as HTTP says it: a status, a sentence, the field at fault; in the shape that OpenAI's clients read.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include <diecast/error.hpp>
#include <diecast/generate/scheduling.hpp>

namespace diecast::serve {

using Json = nlohmann::ordered_json;

// Bytes that are no UTF-8 become U+FFFD; NaN and infinity become null.
inline std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// What a client sent, as a sentence may repeat it.
inline std::string shortened(std::string_view text, std::size_t most = 80) { return text.size() <= most ? std::string(text) : std::string(text.substr(0, most)) + "..."; }

class HttpError : public Error {
 public:
  HttpError(int http_status, const std::string& sentence, std::string of = {}) : Error(sentence), status(http_status), field(std::move(of)) {}

  int status;
  std::string field;                 // of the request's JSON; empty: none
  std::optional<int> retry_after{};  // seconds
  std::string allow{};               // the methods, where another one was used
};

inline HttpError busy(int status, const std::string& sentence, int retry_after = 1) {
  HttpError error(status, sentence);
  error.retry_after = retry_after;
  return error;
}

// An impossible request is the client's fault, a bad time is nobody's, anything else is the server's.
inline HttpError http_error(const Error& error) {
  if (const auto* http = dynamic_cast<const HttpError*>(&error)) return *http;
  if (const auto* refused = dynamic_cast<const Refused*>(&error))
    return refused->reason() == Refused::Reason::closed ? busy(503, "the server is stopping: " + std::string(error.what()), 5) : busy(429, error.what());
  return {error.blame() == Blame::user ? 400 : 500, error.what()};
}

inline Json error_json(const HttpError& error) {
  const int status = error.status;
  const char* type = status == 401 ? "authentication_error" : status == 429 ? "rate_limit_error" : status < 500 ? "invalid_request_error" : "server_error";
  Json json{{"message", error.what()}, {"type", type}, {"param", nullptr}, {"code", status}};
  if (!error.field.empty()) json["param"] = error.field;
  return {{"error", std::move(json)}};
}

}  // namespace diecast::serve
