// A program of two units that both run a model, with diecast::compiled: the library's larger part is compiled in neither.
#include <iostream>
#include <utility>

#include <diecast/compiled_reference.hpp>

std::string text_of(const diecast::Engine& engine);

diecast::Engine engine_of(const char* path) {
  diecast::Model model = diecast::read_gguf(path);
  auto backend = std::make_shared<const diecast::Reference<float>>(model.spec, model.weights);
  auto tokenizer = diecast::make_tokenizer(model.tokenizer);
  return {std::move(model), std::move(backend), std::move(tokenizer)};
}

int main(int, char** argv) {
  const diecast::Engine engine = engine_of(argv[1]);
  std::cout << "ids:";
  for (const int id : engine.session().generate({.prompt = diecast::plain_text("the tin then"), .max_tokens = 12}).ids) std::cout << ' ' << id;
  const diecast::ChatTemplate greeting("{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content | upper }}{% endfor %}");
  const diecast::Message message{"user", "hello"};
  std::cout << "\nrendered: " << greeting.render(std::span(&message, 1), true, "<s>", "</s>").text << "\nother unit: " << text_of(engine) << '\n';
}
