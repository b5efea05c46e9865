// `chat`: a conversation in the terminal. Each turn the whole conversation goes through the template; the session computes only what is new.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iostream>
#include <stop_token>

#include <fmt/core.h>

#include "load.hpp"
#include "text.hpp"

namespace diecast::shell {

namespace {

volatile std::sig_atomic_t interrupted = 0;  // Ctrl-C while an answer is written ends the answer, not the conversation

void interrupt(int) { interrupted = 1; }

std::vector<Message> fresh(const RunOptions& options) {
  if (!options.system) return {};
  return {{"system", *options.system}};
}

}  // namespace

int chat(const Compiled& compiled, const CommonOptions& common, const RunOptions& options) {
  if (common.json) throw Error("chat talks to a person; --json belongs to run");
  const Engine engine = load(compiled, common);
  if (!engine.has_template()) throw Error(engine.model().name + " has no chat template: it is a base model, which continues plain text (run --raw)");
  const int context = context_tokens(common, engine.spec());
  Session session = engine.session({.context = context});
  const SamplingOptions sampling = resolve(options.sampling, engine.model().generation);
  const int max_tokens = resolve_max_tokens(options.max_tokens, engine.model().generation);
  const bool terminal = ::isatty(STDIN_FILENO) != 0;
  if (terminal) fmt::print(stderr, "{}: /new starts afresh, /exit or Ctrl-D ends, Ctrl-C ends an answer\n", compiled.name);

  std::signal(SIGPIPE, SIG_IGN);
  std::vector<Message> messages = fresh(options);
  std::string line;
  while (true) {
    if (terminal) fmt::print(stderr, "> ");
    if (!std::getline(std::cin, line) || line == "/exit") break;
    if (line == "/new") {
      messages = fresh(options);
      session.reset();
      continue;
    }
    if (line.empty()) continue;
    messages.push_back({"user", line});
    PromptText prompt = render(engine, messages);
    std::vector<int> ids = engine.tokenizer().encode(prompt);
    put_bos(engine.tokenizer(), ids);
    if (static_cast<int>(ids.size()) >= context) {
      fmt::print(stderr, "the conversation has {} tokens, the context holds {}: /new starts afresh\n", ids.size(), context);
      messages.pop_back();
      continue;
    }

    std::stop_source stop;
    interrupted = 0;
    const auto before = std::signal(SIGINT, interrupt);
    const Request request{.prompt = std::move(ids), .sampling = sampling, .max_tokens = max_tokens, .stop = options.stop};
    const Answer answer = session.generate(
        request,
        [&](const Piece& piece) {
          put(piece.text);
          if (interrupted) stop.request_stop();
        },
        stop.get_token());
    std::signal(SIGINT, before);
    put("\n");
    messages.push_back({"assistant", answer.text});
    if (answer.finish_reason == FinishReason::length && answer.usage.prompt_tokens + answer.usage.completion_tokens >= context)
      fmt::print(stderr, "the context of {} tokens is full: /new starts afresh\n", context);
  }
  return 0;
}

}  // namespace diecast::shell
