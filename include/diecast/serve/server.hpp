// An engine that answers over HTTP. This header is light: what includes Boost.Beast is compiled where <diecast/serve.hpp> is included, or once in the
// library diecast::compiled_serve.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <diecast/generate/engine.hpp>
#include <diecast/serve/options.hpp>

namespace diecast::serve {

// Step 1; a program that compiles the template language once gives its own function.
using Render = std::function<PromptText(const Engine&, const std::vector<Message>&)>;

// What a server can do; of any thread, except run(), which is of one.
class Serving {
 public:
  virtual ~Serving() = default;
  virtual std::uint16_t port() const = 0;
  // Until it has stopped. False where it stopped because something broke.
  virtual bool run(bool stop_on_signals) = 0;
  // What runs is answered, what is new is refused, then run() returns; at the second call at once.
  virtual void stop() = 0;
  virtual SchedulerStats stats() const = 0;
};

namespace detail {

template <class = void>
std::unique_ptr<Serving> open_server(std::shared_ptr<const Engine> engine, Render render, ServerOptions options);  // listener.hpp

}  // namespace detail

class Server {
 public:
  // Listens from now on, answers once it runs. Throws where the address cannot be had.
  explicit Server(std::shared_ptr<const Engine> engine, ServerOptions options = {})
      : Server(std::move(engine), std::move(options), [](const Engine& of, const std::vector<Message>& messages) { return of.prompt(messages); }) {}
  Server(std::shared_ptr<const Engine> engine, ServerOptions options, Render render) : serving_(detail::open_server(std::move(engine), std::move(render), std::move(options))) {}

  std::uint16_t port() const { return serving_->port(); }
  bool run(bool stop_on_signals = false) { return serving_->run(stop_on_signals); }
  void stop() { serving_->stop(); }
  SchedulerStats stats() const { return serving_->stats(); }

 private:
  std::unique_ptr<Serving> serving_;
};

}  // namespace diecast::serve
