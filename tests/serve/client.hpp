// A client made by hand: blocking, and free to send what no library would.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace diecast::testing {

using Json = nlohmann::ordered_json;

struct Reply {
  int status = 0;
  std::map<std::string, std::string> headers{};  // names in lower case
  std::string body{};
  Json json() const { return Json::parse(body); }
  std::string error() const { return json()["error"]["message"].get<std::string>(); }
  // The events of a stream, the last one being [DONE].
  std::vector<Json> events() const {
    std::vector<Json> all;
    std::string_view rest = body;
    while (rest.starts_with("data: ")) {
      const auto end = rest.find("\n\n");
      const std::string_view data = rest.substr(6, end - 6);
      all.push_back(data == "[DONE]" ? Json("[DONE]") : Json::parse(data));
      rest.remove_prefix(end + 2);
    }
    if (!rest.empty()) throw std::runtime_error("no event: " + std::string(rest));
    return all;
  }
};

class Client {
 public:
  explicit Client(std::uint16_t port, int seconds = 20) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{seconds, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) throw std::runtime_error("cannot connect");
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { leave(); }

  void leave() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  void small_window(int bytes = 2048) const {
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  }
  bool send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  // How much of it the socket takes without waiting.
  std::size_t send_now(std::string_view text) const {
    const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent > 0 ? static_cast<std::size_t>(sent) : 0;
  }
  // More bytes; false at the end.
  bool more() {
    char buffer[4096];
    const ssize_t got = ::recv(socket_, buffer, sizeof buffer, 0);
    if (got < 0) throw std::runtime_error("nothing came in time");
    came_.append(buffer, static_cast<std::size_t>(got));
    return got > 0;
  }
  // Whether the server has closed the connection, all else read.
  bool closed() {
    try {
      while (more()) {
      }
    } catch (const std::runtime_error&) {
      return false;
    }
    return true;
  }
  // Waits until this has come.
  void until(std::string_view text) {
    while (came_.find(text) == std::string::npos)
      if (!more()) throw std::runtime_error("the server closed the connection before: " + came_);
  }
  const std::string& came() const { return came_; }

  Reply read(bool with_body = true) {
    until("\r\n\r\n");
    Reply reply;
    const std::size_t end = came_.find("\r\n\r\n");
    reply.status = std::stoi(came_.substr(9, 3));
    for (std::size_t at = came_.find("\r\n") + 2; at < end;) {
      const std::size_t line_end = came_.find("\r\n", at), colon = came_.find(": ", at);
      std::string name = came_.substr(at, colon - at);
      for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      reply.headers[name] = came_.substr(colon + 2, line_end - colon - 2);
      at = line_end + 2;
    }
    came_.erase(0, end + 4);
    if (!with_body) return reply;
    if (reply.headers.contains("content-length")) {
      const std::size_t length = std::stoul(reply.headers["content-length"]);
      while (came_.size() < length)
        if (!more()) throw std::runtime_error("the body is too short");
      reply.body = came_.substr(0, length);
      came_.erase(0, length);
    } else if (reply.headers.contains("transfer-encoding")) {
      std::size_t length = 1;
      while (length > 0) {
        until("\r\n");
        const std::size_t line = came_.find("\r\n");
        length = std::stoul(came_.substr(0, line), nullptr, 16);
        came_.erase(0, line + 2);
        while (came_.size() < length + 2)
          if (!more()) throw std::runtime_error("a chunk is too short");
        reply.body += came_.substr(0, length);
        came_.erase(0, length + 2);
      }
    } else {
      while (more()) {
      }
      reply.body = std::exchange(came_, {});
    }
    return reply;
  }

  static std::string request(std::string_view method, std::string_view path, std::string_view body, std::string_view headers = "") {
    std::string text = std::string(method) + ' ' + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(headers);
    if (!body.empty() || method == "POST") text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
    return text + "\r\n" + std::string(body);
  }
  Reply post_text(std::string_view path, std::string_view body, std::string_view headers = "") {
    send(request("POST", path, body, headers));
    return read();
  }
  Reply post(std::string_view path, const Json& body) { return post_text(path, body.dump()); }
  Reply get(std::string_view path, std::string_view headers = "") {
    send(request("GET", path, "", headers));
    return read();
  }

 private:
  int socket_;
  std::string came_;
};

}  // namespace diecast::testing
