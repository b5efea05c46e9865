// What the command line says, as plain data: the options that every command takes, and those of each command.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <diecast/sample/defaults.hpp>

#include "shell.hpp"

namespace diecast::shell {

struct CommonOptions {
  std::string model;                 // a file or folder
  cpu::Path cpu{};                   // compiled in
  cuda::Doors devices{};             // compiled in, or null
  std::string backend = "cpu";
  int threads = 0;                   // 0: as many as the machine has
  std::optional<int> context;
  std::string cache_type;            // empty: the backend's own
  std::string precision = "exact";
  std::string head = "screened";
  std::string kernels = "whole";
  bool json = false;
};

struct RunOptions {
  std::optional<std::string> prompt;  // absent: standard input
  std::optional<std::string> system;
  bool raw = false;
  std::optional<int> max_tokens;
  SamplingChoice sampling;
  std::vector<std::string> stop;
  std::optional<int> logprobs;
  std::optional<std::string> trace;
  int draft = 0;
};

struct TokensOptions {
  std::string text;
  bool special = false;
  bool chat = false;
};

struct LogitsOptions {
  std::vector<int> ids;
  int top = 10;
  bool all = false;
};

struct BenchOptions {
  int prompt = 512;
  int generate = 64;
  int batch = 1;
  int depth = 0;
  int repeat = 3;
};

struct ServeOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;
  std::string api_key;
  std::optional<int> cache_tokens;  // absent: four contexts
  int running = 32;
  int step_tokens = 128;
  int waiting = 256;
  int draft = 0;
  int connections = 1100;
  int answer_seconds = 0;
  int stop_seconds = 30;
  bool quiet = false;
};

int run(const Compiled&, const CommonOptions&, const RunOptions&);
int chat(const Compiled&, const CommonOptions&, const RunOptions&);
int tokens(const Compiled&, const CommonOptions&, const TokensOptions&);
int logits(const Compiled&, const CommonOptions&, const LogitsOptions&);
int info(const Compiled&, const CommonOptions&);
int pack(const Compiled&, const CommonOptions&, const std::string& output);
int bench(const Compiled&, const CommonOptions&, const BenchOptions&);
int verify(const Compiled&, const CommonOptions&);
int serve(const Compiled&, const CommonOptions&, const ServeOptions&);

}  // namespace diecast::shell
