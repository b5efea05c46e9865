// `run`: one prompt, one answer, and where the time of its first token went.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>

#include <fmt/core.h>

#include <diecast/trace/chrome.hpp>
#include <diecast/trace/table.hpp>

#include "load.hpp"
#include "text.hpp"
#include "waiting.hpp"

namespace diecast::shell {

void put(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw Error("the answer cannot be written to standard output", Blame::program);
}

namespace {

std::string standard_input() {
  if (::isatty(STDIN_FILENO) != 0) fmt::print(stderr, "type the prompt, then Ctrl-D\n");
  std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

PromptText prompt_of(const Engine& engine, const RunOptions& options, const std::string& text) {
  if (options.raw || !engine.has_template()) {
    if (options.system) throw Error("--system needs a chat template, and plain text has none");
    return plain_text(text);
  }
  std::vector<Message> messages;
  if (options.system) messages.push_back({"system", *options.system});
  messages.push_back({"user", text});
  return render(engine, messages);
}

Json logprobs_of(const Answer& answer) {
  Json list = Json::array();
  for (const TokenLogprobs& token : answer.logprobs) {
    Json top = Json::array();
    for (const TokenLogprob& one : token.top) top.push_back({{"id", one.id}, {"logprob", one.logprob}});
    list.push_back({{"id", token.id}, {"logprob", token.logprob}, {"top", std::move(top)}});
  }
  return list;
}

Json timing_of(const Timing& timing) {
  Json ms = Json::object();
  for (const StageTime& stage : timing.stages) ms[stage.name] = static_cast<double>(stage.ns) / 1e6;
  ms["ttft"] = static_cast<double>(timing.ttft_ns) / 1e6;
  if (timing.decode_per_token_ns) ms["decode_per_token"] = *timing.decode_per_token_ns / 1e6;
  return ms;
}

Json json_of(const Answer& answer, const std::string& prompt_text, bool with_logprobs) {
  Json json;
  json["text"] = answer.text;
  json["ids"] = answer.ids;
  json["prompt_ids"] = answer.prompt_ids;
  json["prompt_text"] = prompt_text;
  json["finish_reason"] = name(answer.finish_reason);
  json["usage"] = {{"prompt_tokens", answer.usage.prompt_tokens},
                   {"completion_tokens", answer.usage.completion_tokens},
                   {"cached_tokens", answer.usage.cached_tokens}};
  json["timing_ms"] = timing_of(answer.timing);
  if (with_logprobs) json["logprobs"] = logprobs_of(answer);
  return json;
}

}  // namespace

int run(const Compiled& compiled, const CommonOptions& common, const RunOptions& options) {
  std::ofstream trace_file;  // opened first: a path that cannot be written should not cost an answer
  if (options.trace) {
    trace_file.open(*options.trace, std::ios::binary);
    if (!trace_file) throw Error("the trace cannot be written to '" + *options.trace + "'");
  }
  Trace trace;  // before standard input is read: a person's typing is not the engine's time
  std::string text;
  if (options.prompt) {
    text = *options.prompt;
  } else {
    text = standard_input();
    trace = Trace();
  }
  trace.stage("load");
  std::optional<Waiting> waiting("loading the model");
  const Engine engine = load(compiled, common);
  waiting.reset();
  const SamplingOptions sampling = resolve(options.sampling, engine.model().generation);

  trace.stage("template");
  PromptText prompt = prompt_of(engine, options, text);
  const std::string prompt_text = prompt.text;
  Session session = engine.session({.context = context_tokens(common, engine.spec()), .draft = options.draft});
  const Request request{.prompt = std::move(prompt),
                        .sampling = sampling,
                        .max_tokens = resolve_max_tokens(options.max_tokens, engine.model().generation),
                        .stop = options.stop,
                        .logprobs = options.logprobs};
  // JSON is not streamed: its first byte comes when the answer is whole, and so does the end of the time to the first token.
  Session::OnPiece stream;
  if (!common.json)
    stream = [&](const Piece& piece) {
      waiting.reset();
      put(piece.text);
    };
  waiting.emplace(common.json ? "answering" : "reading the prompt");
  const Answer answer = session.generate(request, stream, {}, &trace);
  waiting.reset();

  if (common.json) put(line_of(json_of(answer, prompt_text, options.logprobs.has_value())));
  else put("\n");
  if (options.trace) {
    write_chrome(trace, trace_file);
    if (!trace_file.flush()) throw Error("the trace cannot be written to '" + *options.trace + "'");
  }
  fmt::print(stderr, "{}", table(answer.timing));
  return 0;
}

}  // namespace diecast::shell
