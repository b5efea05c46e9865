// Responses as bytes. Requests are parsed by Boost.Beast, for they may be hostile; what leaves is ours, and short enough to write down.
#pragma once

#include <cstddef>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <diecast/serve/http_error.hpp>
#include <diecast/serve/reply.hpp>
#include <diecast/text.hpp>
#include <diecast/trace/timing.hpp>

namespace diecast::serve {

using Headers = std::vector<std::pair<std::string, std::string>>;  // names and values are ours: no line breaks

struct Response {
  int status = 200;
  std::string type = "application/json";
  std::string body{};
  Headers headers{};
};

inline Response json_response(const Json& json) { return {.body = dump(json)}; }

inline Response error_response(const HttpError& error) {
  Response response{.status = error.status, .body = dump(error_json(error))};
  if (error.retry_after) response.headers.emplace_back("Retry-After", std::to_string(*error.retry_after));
  if (!error.allow.empty()) response.headers.emplace_back("Allow", error.allow);
  if (error.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

inline std::string http_date() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc);
  return {text, length};
}

inline std::string_view reason_of(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 413: return "Content Too Large";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 503: return "Service Unavailable";
    default: return "Internal Server Error";
  }
}

// Status line and headers.
inline std::string head_text(int status, std::string_view type, const Headers& headers) {
  std::string out = "HTTP/1.1 " + std::to_string(status) + ' ';
  out += reason_of(status);
  out += "\r\nDate: " + http_date() + "\r\nContent-Type: ";
  out += type;
  out += "\r\nX-Content-Type-Options: nosniff";
  for (const auto& [name, value] : headers) out += "\r\n" + name + ": " + value;
  return out + "\r\n\r\n";
}

inline std::string response_text(const Response& response, const Headers& headers, bool with_body) {
  Headers all = headers;
  all.insert(all.end(), response.headers.begin(), response.headers.end());
  all.emplace_back("Content-Length", std::to_string(response.body.size()));
  std::string out = head_text(response.status, response.type, all);
  return with_body ? out + response.body : out;
}

// A part of a body whose length is not known beforehand.
inline std::string chunk_text(std::string_view bytes, bool chunked) {
  if (!chunked || bytes.empty()) return std::string(bytes);
  constexpr std::string_view hex = "0123456789abcdef";
  std::string length;
  for (std::size_t n = bytes.size(); n > 0; n /= 16) length.insert(length.begin(), hex[n % 16]);
  return length + "\r\n" + std::string(bytes) + "\r\n";
}

// "template;dur=0.051, queue;dur=0.004": milliseconds (W3C Server Timing).
inline std::string server_timing(const Timing& timing) {
  std::string out;
  for (const StageTime& stage : timing.stages) out += (out.empty() ? "" : ", ") + stage.name + ";dur=" + text_of(milliseconds(stage.ns));
  return out;
}

// Takes the same time wherever they differ.
inline bool same_secret(std::string_view given, std::string_view secret) {
  volatile unsigned char different = given.size() == secret.size() ? 0 : 1;
  for (std::size_t i = 0; i < secret.size(); ++i) {
    const char byte = i < given.size() ? given[i] : '\0';
    different = static_cast<unsigned char>(different | (static_cast<unsigned char>(byte) ^ static_cast<unsigned char>(secret[i])));
  }
  return different == 0;
}

}  // namespace diecast::serve
