// A program that has Diecast as a subfolder of its CMake project and continues a line of Shakespeare.
//   my_program FOLDER
#include <iostream>
#include <utility>

#include <diecast/configs/tiny_shakespeare.hpp>
#include <diecast/diecast.hpp>
#include <diecast/hf.hpp>
#include <diecast/reference.hpp>

int main(int argc, char** argv) try {
  if (argc != 2) throw diecast::Error("usage: my_program FOLDER");
  diecast::Model model = diecast::open_model(argv[1], [](const diecast::Spec& spec, std::span<const diecast::Format> formats) {
    diecast::check_compiled(diecast::compiled<configs::tiny_shakespeare>(), spec, formats);  // any other model is refused
  });
  auto backend = std::make_shared<const diecast::Reference<float>>(model.spec, model.weights);
  auto tokenizer = diecast::make_tokenizer(model.tokenizer);
  const diecast::Engine engine(std::move(model), std::move(backend), std::move(tokenizer));
  std::cout << engine.session().generate({.prompt = engine.prompt("ROMEO:\n"), .max_tokens = 14}).text;
} catch (const diecast::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
