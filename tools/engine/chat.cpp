// `chat`: a conversation in the terminal. Each turn the whole conversation goes through the template; the session computes only what is new.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <optional>
#include <stop_token>
#include <thread>

#include <fmt/core.h>

#include <diecast/generate/conversation.hpp>

#include "load.hpp"
#include "text.hpp"
#include "waiting.hpp"

namespace diecast::shell {

namespace {

std::atomic<int> interrupted = 0;  // lock-free, so a handler may set it and a thread read it. Ctrl-C while an answer is written ends the answer, not the conversation

void interrupt(int) { interrupted = 1; }

// Asks for the end of an answer soon after Ctrl-C, also where no token has come yet: a handler itself may do next to nothing.
std::jthread watch(std::stop_source& stop) {
  return std::jthread([&stop](std::stop_token over) {
    while (!over.stop_requested() && interrupted == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (interrupted != 0) stop.request_stop();
  });
}

// A line as a command: spaces behind it do not count.
std::string command_of(const std::string& line) { return line.substr(0, line.find_last_not_of(" \t\r") + 1); }

}  // namespace

int chat(const Compiled& compiled, const CommonOptions& common, const RunOptions& options) {
  std::optional<Waiting> waiting("loading the model");
  const Engine engine = load(compiled, common);
  waiting.reset();
  if (!engine.has_template()) throw Error(engine.model().name + " has no chat template: it is a base model, which continues plain text (run --raw)");
  const int context = context_tokens(common, engine.spec());
  Conversation conversation(engine, {.system = options.system, .sampling = options.sampling, .max_tokens = options.max_tokens, .stop = options.stop,
                                     .session = {.context = context, .draft = options.draft}});
  const bool terminal = ::isatty(STDIN_FILENO) != 0;
  if (terminal) fmt::print(stderr, "{}: /new starts afresh, /exit or Ctrl-D ends, Ctrl-C ends an answer\n", compiled.name);

  std::string line;
  while (true) {
    if (terminal) fmt::print(stderr, "> ");
    if (!std::getline(std::cin, line)) {
      if (terminal) fmt::print(stderr, "\n");
      break;
    }
    const std::string command = command_of(line);
    if (command == "/exit") break;
    if (command == "/new") {
      conversation.restart();
      continue;
    }
    if (command.empty()) continue;
    std::stop_source stop;
    Session::Stream* reply = nullptr;
    try {
      reply = &conversation.say(line, stop.get_token());
    } catch (const PromptTooLong& full) {
      const bool first = conversation.messages().size() == (options.system ? 1 : 0);
      if (first) fmt::print(stderr, "the message has {} tokens, the context holds {}: a shorter one fits\n", full.tokens(), context);
      else fmt::print(stderr, "the conversation has {} tokens, the context holds {}: /new starts afresh\n", full.tokens(), context);
      continue;
    }

    interrupted = 0;
    const auto before = std::signal(SIGINT, interrupt);
    {
      const std::jthread watcher = watch(stop);
      waiting.emplace("reading the prompt");
      for (const Piece& piece : *reply) {
        waiting.reset();
        put(piece.text);
      }
    }
    waiting.reset();
    std::signal(SIGINT, before);
    put("\n");
    const Answer& answer = reply->answer();
    if (answer.finish_reason == FinishReason::length && answer.usage.prompt_tokens + answer.usage.completion_tokens >= context)
      fmt::print(stderr, "the context of {} tokens is full: /new starts afresh\n", context);
  }
  return 0;
}

}  // namespace diecast::shell
