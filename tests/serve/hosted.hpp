// A server over the scripted model, in this process, on a free port.
#pragma once

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <diecast/serve/server.hpp>

#include <scripted.hpp>

#include "client.hpp"

namespace diecast::testing {

// Control tokens, then single bytes by which any text can be written, then longer pieces.
inline std::vector<std::string> toy_pieces() {
  std::vector<std::string> pieces{"<eos>", "<end>", "<user>", "<assistant>", "<bos>"};
  for (int c = 1; c < 256; ++c) pieces.emplace_back(1, static_cast<char>(c));
  for (const char* longer : {"DEF", "HI", "HX", "b\n\nUs", "er:"}) pieces.emplace_back(longer);
  return pieces;
}
inline int id_of(std::string_view piece) {
  const auto pieces = toy_pieces();
  for (std::size_t id = 0; id < pieces.size(); ++id)
    if (pieces[id] == piece) return static_cast<int>(id);
  throw std::runtime_error("no piece " + std::string(piece));
}
inline const int toy_vocab = static_cast<int>(toy_pieces().size());
inline constexpr int toy_eos = 0;

// <user>hello<assistant>; no system role.
inline constexpr char toy_template[] =
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('this model takes no system message') }}{% endif %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}";

// The answer to any prompt: these ids behind its last <assistant>, then the end.
inline scripted::Rule answers(std::vector<int> ids) {
  return [ids = std::move(ids), begin = id_of("<assistant>")](std::span<const int> sequence) {
    std::size_t said = 0;
    while (said < sequence.size() && sequence[sequence.size() - 1 - said] != begin) ++said;
    return scripted::one_hot(toy_vocab, said < ids.size() ? ids[said] : toy_eos);
  };
}
// Letters that depend on everything before them, without an end.
inline scripted::Rule endless() {
  return [hashed = scripted::hashed(toy_vocab), a = id_of("a")](std::span<const int> ids) {
    auto logits = hashed(ids);
    for (int id = 0; id < toy_vocab; ++id)
      if (id < a || id >= a + 26) logits[static_cast<std::size_t>(id)] = -10;
    return logits;
  };
}

class Hosted {
 public:
  explicit Hosted(scripted::Rule rule, serve::ServerOptions options = {}, int context = 1024, bool with_bos = false)
      : tokenizer_(std::make_shared<scripted::Toy>(toy_pieces())), model(std::make_shared<scripted::Model>(toy_vocab, context, std::move(rule))) {
    if (with_bos) {
      tokenizer_->bos = id_of("<bos>");
      tokenizer_->add_bos = true;
    }
    Model file;
    file.name = "toy";
    file.spec.vocab = toy_vocab;
    file.spec.context = context;
    file.chat_template = toy_template;
    file.generation.eos = {toy_eos, id_of("<end>")};
    engine_ = std::make_shared<const Engine>(std::move(file), model, tokenizer_);
    options.port = 0;
    options.fingerprint = "0123456789abcdef";
    options.log = [this](const std::string& line) {
      std::this_thread::sleep_for(std::chrono::milliseconds(log_ms));
      const std::lock_guard lock(mutex_);
      log_.push_back(Json::parse(line));
    };
    server.emplace(engine_, options);
    runs_ = std::thread([this] { well = server->run(); });
  }
  Hosted(const Hosted&) = delete;
  Hosted& operator=(const Hosted&) = delete;
  ~Hosted() {
    server->stop();
    server->stop();
    join();
  }
  void join() {
    if (runs_.joinable()) runs_.join();
  }

  std::uint16_t port() const { return server->port(); }
  Reply chat(const Json& more, std::string_view content = "hello") const { return Client(port()).post("/v1/chat/completions", body(more, content)); }
  static Json body(const Json& more, std::string_view content = "hello") {
    Json json{{"messages", Json::array({Json{{"role", "user"}, {"content", content}}})}};
    json.update(more);
    return json;
  }
  static std::string text_of(const Reply& reply) { return reply.json()["choices"][0]["message"]["content"].get<std::string>(); }

  // The lines of the log with this event.
  std::vector<Json> logged(std::string_view event) const {
    const std::lock_guard lock(mutex_);
    std::vector<Json> lines;
    for (const Json& line : log_)
      if (line["event"] == event) lines.push_back(line);
    return lines;
  }
  void each_token_takes(int ms) const {
    model->before_forward = [ms] { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
  }
  // Waits up to a minute.
  bool eventually(const std::function<bool()>& condition) const {
    for (int i = 0; i < 12000; ++i) {  // the machine may be busy
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }
  bool idle() const {
    const SchedulerStats s = server->stats();
    return s.running + s.waiting == 0 && s.tokens_in_flight == 0 && s.blocks_free + s.blocks_cached == s.blocks;
  }

 private:
  std::shared_ptr<scripted::Toy> tokenizer_;
  std::shared_ptr<const Engine> engine_;
  mutable std::mutex mutex_;
  std::vector<Json> log_;
  std::thread runs_;

 public:
  std::shared_ptr<scripted::Model> model;
  std::optional<serve::Server> server;
  std::atomic<bool> well{false};
  std::atomic<int> log_ms{0};  // what a line of the log takes the server's thread
};
}  // namespace diecast::testing
