// Two models of different families in one program, each answering in a thread of its own. An engine is immutable and may be shared between
// threads; a session belongs to one.
//   two_models FOLDER PROMPT FOLDER PROMPT     the first is tiny-shakespeare, the second any model
#include <exception>
#include <iostream>
#include <string>
#include <thread>
#include <utility>

#include <diecast/configs/tiny_shakespeare.hpp>
#include <diecast/diecast.hpp>
#include <diecast/hf.hpp>
#include <diecast/reference.hpp>

namespace {

diecast::Engine open(const std::string& path, const diecast::AcceptModel& accept) {
  diecast::Model model = diecast::open_model(path, accept);
  auto backend = std::make_shared<const diecast::Reference<float>>(model.spec, model.weights);
  auto tokenizer = diecast::make_tokenizer(model.tokenizer);
  return {std::move(model), std::move(backend), std::move(tokenizer)};
}

// Refuses a file that is not the config's model, before its weights are read.
template <class Config>
void must_be(const diecast::Spec& spec, std::span<const diecast::Format> formats) {
  diecast::check_compiled(diecast::compiled<Config>(), spec, formats);
}

struct Outcome {
  diecast::Answer answer;
  std::exception_ptr error;  // an exception that leaves a thread would end the program
};

void ask(const diecast::Engine& engine, const char* prompt, Outcome& outcome) {
  try {
    outcome.answer = engine.session().generate({.prompt = engine.prompt(prompt), .max_tokens = 12});
  } catch (...) {
    outcome.error = std::current_exception();
  }
}

void print(const diecast::Engine& engine, const Outcome& outcome) {
  if (outcome.error) std::rethrow_exception(outcome.error);
  std::cout << engine.model().architecture << ':';
  for (const int id : outcome.answer.ids) std::cout << ' ' << id;
  std::cout << '\n';
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 5) throw diecast::Error("usage: two_models FOLDER PROMPT FOLDER PROMPT");
  const diecast::Engine first = open(argv[1], must_be<configs::tiny_shakespeare>);
  const diecast::Engine second = open(argv[3], {});
  Outcome of_first, of_second;
  {
    const std::jthread one([&] { ask(first, argv[2], of_first); });
    const std::jthread other([&] { ask(second, argv[4], of_second); });
  }  // both are joined here
  print(first, of_first);
  print(second, of_second);
} catch (const diecast::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
