// The command line itself: parsing, help, errors as one sentence, exit status.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <new>
#include <optional>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <diecast/error.hpp>

#include "../signals.hpp"
#include "load.hpp"
#include "text.hpp"

namespace diecast::shell {

namespace {

// Reads text as exactly one decimal number; nothing where it is not. CLI11 alone takes 010 for 8, no text for 0, and 2^64 for 2^64 - 1.
template <class Number>
std::optional<Number> decimal(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

template <class Number>
void whole(CLI::Option* option) {
  option->transform(CLI::Validator([](std::string& text) {
    const auto number = decimal<Number>(text);
    if (!number) return fmt::format("'{}' is not a whole number from {} to {}", text, (std::numeric_limits<Number>::min)(), (std::numeric_limits<Number>::max)());
    text = std::to_string(*number);
    return std::string();
  }, ""));
}

void real(CLI::Option* option) {
  option->check([](const std::string& text) { return std::string(text.empty() ? "'' is not a number" : ""); }, "");
}

// The ids of --ids, separated by commas, with spaces where the user likes them.
std::vector<int> ids_of(const std::string& list) {
  std::vector<int> ids;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = (std::min)(list.find(',', begin), list.size());
    std::string_view one = std::string_view(list).substr(begin, end - begin);
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    const std::optional<int> id = decimal<int>(one);
    if (!id) throw Error(fmt::format("--ids has '{}' where a token id should stand", one));
    ids.push_back(*id);
    begin = end + 1;
  }
  return ids;
}

// What the model is read from, and by how many.
void add_model(CLI::App& command, CommonOptions& options) {
  command.add_option("--model", options.model, "model file (.gguf, or packed) or folder (config.json, safetensors, tokenizer.json); default: the model inside this program, else "
                     "the file PROGRAM.model beside it");
  whole<int>(command.add_option("--threads", options.threads, "threads; 0: as many as the machine has")->capture_default_str());
}

// What runs it. The backends are those of this engine.
void add_backend(CLI::App& command, CommonOptions& options) {
  const bool emulated = options.devices.emulated != nullptr, cuda = options.devices.cuda != nullptr;
  command.add_option("--backend", options.backend,
                     fmt::format("what runs the model: cpu (this machine's instructions), reference (Eigen, float), reference-double{}{}{}", cuda ? ", cuda (a GPU)" : "",
                                 emulated ? ", emulated (a GPU's code on the host, slowly)" : "",
                                 emulated || cuda ? "" : "; ./cast --emulated and --cuda make engines that have these, too"))->capture_default_str();
  whole<int>(command.add_option("--context", options.context, "tokens of prompt and answer together; default: the model's, at most 8192"));
  command.add_option("--cache-type", options.cache_type, "type of the KV cache: f16, bf16, f32 or q8 with cpu (default f16); f32 with reference, f64 with reference-double");
  command.add_option("--precision", options.precision, "bits of the activations in the cpu backend's integer products: fast (8), balanced (15 before Q/K/V and down), exact (15)")
      ->capture_default_str();
  command.add_option("--head", options.head, "how the cpu backend finds the likeliest tokens: screened, where the model's head has a screen (half of it is read), or whole; the same ids")
      ->capture_default_str();
  if (emulated || cuda)
    command.add_option("--kernels", options.kernels, "how a GPU's code runs a token: whole (one kernel) or single (one for each operation); the same bits")->capture_default_str();
}

// Of the commands that end with a result.
void add_common(CLI::App& command, CommonOptions& options) {
  add_model(command, options);
  add_backend(command, options);
  command.add_flag("--json", options.json,
                   "print one JSON object when all is done (run: timing_ms.ttft, the time to the first byte, is then that of the whole answer)");
}

void add_generation(CLI::App& command, RunOptions& options) {
  command.add_option("--system", options.system, "system message");
  whole<int>(command.add_option("--max-tokens", options.max_tokens, "longest answer in tokens; default: the model file's, or 256"));
  real(command.add_option("--temperature", options.sampling.temperature, "0: greedy; higher: more varied"));
  whole<int>(command.add_option("--top-k", options.sampling.top_k, "keep the K likeliest tokens; 0: all"));
  real(command.add_option("--top-p", options.sampling.top_p, "keep the smallest set of likeliest tokens whose mass is at least P"));
  real(command.add_option("--min-p", options.sampling.min_p, "keep tokens at least M times as likely as the likeliest"));
  real(command.add_option("--repetition-penalty", options.sampling.repetition_penalty, "makes tokens of prompt and answer less likely; 1: off"));
  whole<std::uint64_t>(command.add_option("--seed", options.sampling.seed, "equal seeds draw equal answers"));
  command.add_flag("--greedy", options.sampling.greedy, "always the likeliest token");
  whole<int>(command.add_option("--draft", options.draft, "draft up to N tokens from the text itself: the same answer, faster where it repeats")->capture_default_str());
  command.add_option("--stop", options.stop, "text that ends the answer; may be repeated")->allow_extra_args(false);
}

int dispatch(const Compiled& compiled, const cpu::Path& cpu, int argc, char** argv, const cuda::Doors& devices) {
  CLI::App app{fmt::format("{}: a language model as its own engine, cast by Diecast", compiled.name)};
  app.require_subcommand(1);
  CommonOptions common;
  common.cpu = cpu;
  common.devices = devices;
  RunOptions run_options;
  TokensOptions tokens_options;
  LogitsOptions logits_options;
  BenchOptions bench_options;
  ServeOptions serve_options;
  int status = 0;

  CLI::App* run_command = app.add_subcommand("run", "answer a prompt");
  run_command->add_option("prompt", run_options.prompt, "the prompt; absent: standard input, less one newline at its end");
  run_command->add_flag("--raw", run_options.raw, "no chat template, markers are plain text (always so for a base model)");
  whole<int>(run_command->add_option("--logprobs", run_options.logprobs, "with --json: report each token's log-probability and those of the N likeliest"));
  run_command->add_option("--trace", run_options.trace, "write the spans of every step as Chrome trace JSON");
  add_generation(*run_command, run_options);
  add_common(*run_command, common);
  run_command->callback([&] {
    check_backend(common);
    status = run(compiled, common, run_options);
  });

  CLI::App* chat_command = app.add_subcommand("chat", "a conversation in the terminal");
  add_generation(*chat_command, run_options);
  add_model(*chat_command, common);
  add_backend(*chat_command, common);
  chat_command->callback([&] {
    check_backend(common);
    status = chat(compiled, common, run_options);
  });

  CLI::App* tokens_command = app.add_subcommand("tokens", "ids and pieces of a text: no BOS, no marker parsed");
  tokens_command->add_option("text", tokens_options.text, "the text")->required();
  tokens_command->add_flag("--special", tokens_options.special, "add the BOS and EOS that the model adds");
  tokens_command->add_flag("--chat", tokens_options.chat, "take the text as a user's message through the chat template");
  add_common(*tokens_command, common);
  tokens_command->callback([&] {
    check_backend(common);
    status = tokens(compiled, common, tokens_options);
  });

  CLI::App* logits_command = app.add_subcommand("logits", "the logits after exactly these ids");
  std::string ids;
  logits_command->add_option("--ids", ids, "token ids, separated by commas")->required();
  whole<int>(logits_command->add_option("--top", logits_options.top, "how many of the greatest logits")->capture_default_str());
  logits_command->add_flag("--all", logits_options.all, "also every position's best and the mean negative log-likelihood (nats, positions 2 to n)");
  add_common(*logits_command, common);
  logits_command->callback([&] {
    check_backend(common);
    logits_options.ids = ids_of(ids);
    status = logits(compiled, common, logits_options);
  });

  CLI::App* info_command = app.add_subcommand("info", "the spec, memory, instruction set, identity");
  add_common(*info_command, common);
  info_command->callback([&] {
    check_backend(common);
    status = info(compiled, common);
  });

  CLI::App* pack_command = app.add_subcommand("pack", "write the model as this engine runs it: a file that starts faster");
  std::string packed;
  pack_command->add_option("output", packed, "the engine file")->required();
  add_model(*pack_command, common);
  pack_command->callback([&] { status = pack(compiled, common, packed); });

  CLI::App* bench_command = app.add_subcommand("bench", "speed on this machine, and how much of what the machine can do that is");
  whole<int>(bench_command->add_option("--prompt", bench_options.prompt, "tokens of the prompt; 0: none")->capture_default_str());
  whole<int>(bench_command->add_option("--generate", bench_options.generate, "tokens to generate for each sequence; 0: none")->capture_default_str());
  whole<int>(bench_command->add_option("--batch", bench_options.batch, "sequences that generate together")->capture_default_str());
  whole<int>(bench_command->add_option("--depth", bench_options.depth, "tokens that each sequence has before it generates")->capture_default_str());
  whole<int>(bench_command->add_option("--repeat", bench_options.repeat, "how often to measure")->capture_default_str());
  add_common(*bench_command, common);
  bench_command->callback([&] {
    check_backend(common);
    status = bench(compiled, common, bench_options);
  });

  CLI::App* verify_command = app.add_subcommand("verify", "the reference in float, the cpu backend, and with --backend emulated or cuda every kernel, against double on this model: errors beside their bounds");
  add_common(*verify_command, common);
  verify_command->callback([&] {
    check_backend(common);
    status = verify(compiled, common);
  });

  CLI::App* serve_command = app.add_subcommand("serve", "answer over HTTP: OpenAI's API, and a page that shows the path to the first token");
  whole<std::uint16_t>(serve_command->add_option("--port", serve_options.port, "TCP port; 0: any that is free")->capture_default_str());
  serve_command->add_option("--host", serve_options.host, "address to listen on; 0.0.0.0: every network of this machine")->capture_default_str();
  serve_command->add_option("--api-key", serve_options.api_key, "ask every client for this key")->envname("DIECAST_API_KEY");
  whole<int>(serve_command->add_option("--cache-tokens", serve_options.cache_tokens, "tokens that all requests and the prefix cache hold together; default: four contexts"));
  whole<int>(serve_command->add_option("--step-tokens", serve_options.step_tokens, "tokens of one pass: every running answer's next one first, prompts with the rest")->capture_default_str());
  whole<int>(serve_command->add_option("--running", serve_options.running, "answers that are computed at once")->capture_default_str());
  whole<int>(serve_command->add_option("--waiting", serve_options.waiting, "answers that may wait; more are refused (429)")->capture_default_str());
  whole<int>(serve_command->add_option("--draft", serve_options.draft, "while few are answered, draft up to N tokens from each text itself: the same answers")->capture_default_str());
  whole<int>(serve_command->add_option("--connections", serve_options.connections, "open connections; more are refused (503)")->capture_default_str());
  whole<int>(serve_command->add_option("--answer-seconds", serve_options.answer_seconds, "the longest that one answer may take; 0: no limit")->capture_default_str());
  whole<int>(serve_command->add_option("--stop-seconds", serve_options.stop_seconds, "after SIGTERM: what running answers may still take")->capture_default_str());
  serve_command->add_flag("--quiet", serve_options.quiet, "no log (one JSON line for each request, on standard error)");
  add_model(*serve_command, common);
  add_backend(*serve_command, common);
  serve_command->callback([&] {
    check_backend(common);
    status = serve(compiled, common, serve_options);
  });

  const auto known = app.get_subcommands([&](const CLI::App* command) { return argc > 1 && command->get_name() == argv[1]; });
  if (argc > 1 && argv[1][0] != '-' && known.empty())
    throw Error(fmt::format("there is no command '{}': this engine has run, chat, tokens, logits, info, pack, bench, verify and serve", argv[1]));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    fmt::print(stderr, "{} (--help lists the commands and options)\n", one_line(error.what()));
    return 2;
  }
  return status;
}

}  // namespace

int main(const Compiled& compiled, const cpu::Path& cpu, int argc, char** argv, const cuda::Doors& devices) {
  tools::take_signals();
  try {
    return dispatch(compiled, cpu, argc, argv, devices);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", one_line(error.what()));
    return error.blame() == Blame::user ? 2 : 1;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "the machine has too little memory for this model and context\n");
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", one_line(error.what()));
    return 1;
  }
}

}  // namespace diecast::shell
