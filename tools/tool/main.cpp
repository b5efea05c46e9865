// The model tool behind ./cast: it inspects, tokenizes, renders, writes configs and embeds: what needs a model's files but no engine.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <diecast/chat/chat_template.hpp>
#include <diecast/chat/from_json.hpp>
#include <diecast/files/open.hpp>
#include <diecast/tokens/sentencepiece.hpp>

#include "../signals.hpp"
#include "tool.hpp"

namespace diecast::tool {

namespace {

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) throw Error(path + " cannot be read");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw Error(path + " cannot be read");
  return text;
}

// Of a GGUF file, that may hold nothing but its vocabulary, or of a folder.
TokenizerTables tokenizer_of(const std::string& path) {
  if (std::filesystem::is_directory(path)) return open_model(path).tokenizer;
  return read_gguf_tokenizer(Gguf::open(path));
}

void tokenize(const std::string& path, const std::string& text) {
  std::string list;
  for (const int id : make_any_tokenizer(tokenizer_of(path))->encode(text)) list += (list.empty() ? "" : ", ") + std::to_string(id);
  fmt::print("[{}]\n", list);
}

void render(const std::string& template_path, const std::string& context_path) {
  const ChatTemplate chat(file_text(template_path));
  const std::string text = render_json(chat, file_text(context_path)).text;
  std::fwrite(text.data(), 1, text.size(), stdout);
}

int run(int argc, char** argv) {
  CLI::App app{"what a model file holds, without an engine"};
  app.require_subcommand(1);
  std::string path, text;
  CLI::App* inspect_command = app.add_subcommand("inspect", "spec, tokenizer, formats and tensors");
  inspect_command->add_option("model", path, "a .gguf file or a folder")->required();
  inspect_command->callback([&] { inspect(path); });
  CLI::App* tokenize_command = app.add_subcommand("tokenize", "the ids of plain text as a JSON list");
  tokenize_command->add_option("model", path, "a .gguf file, which may hold nothing but a vocabulary, or a folder")->required();
  tokenize_command->add_option("text", text, "the text")->required();
  tokenize_command->callback([&] { tokenize(path, text); });
  ConfigOptions config_options;
  CLI::App* config_command = app.add_subcommand("config", "the config header of a model, as ./cast compiles it; refuses what no engine could run");
  config_command->add_option("model", config_options.model, "a .gguf file, a folder, or a config.json alone (spec only)")->required();
  config_command->add_option("--name", config_options.name, "the engine's name: a-z, 0-9, '.', '_' and '-'")->required();
  config_command->add_option("--identifier", config_options.identifier, "the struct's name; default: made from --name");
  config_command->add_option("--output", config_options.output, "a file; default: standard output");
  config_command->callback([&] { config(config_options); });
  std::string engine, output;
  CLI::App* embed_command = app.add_subcommand("embed", "an engine with its model inside");
  embed_command->add_option("engine", engine, "the program")->required();
  embed_command->add_option("model", path, "its engine file, as the engine's own command pack writes it")->required();
  embed_command->add_option("output", output, "the new program")->required();
  embed_command->callback([&] { embed(engine, path, output); });
  CLI::App* render_command = app.add_subcommand("render", "what a chat template makes of a context");
  render_command->add_option("template", path, "a Jinja file")->required();
  render_command->add_option("context", text, "a JSON file: messages, tools, add_generation_prompt, bos_token, ...")->required();
  render_command->callback([&] { render(path, text); });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    fmt::print(stderr, "{}\n", shown(error.what()));
    return 2;
  }
  return 0;
}

}  // namespace

}  // namespace diecast::tool

int main(int argc, char** argv) {
  try {
    diecast::tools::take_signals();
    const int status = diecast::tool::run(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) throw diecast::Error("the result cannot be written to standard output", diecast::Blame::program);
    return status;
  } catch (const diecast::Error& error) {
    fmt::print(stderr, "{}\n", diecast::tool::shown(error.what()));
    return error.blame() == diecast::Blame::user ? 2 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", diecast::tool::shown(error.what()));
    return 1;
  }
}
