// Streams an answer piece by piece and ends it at a stop string. What may be the beginning of the stop string is held back until that is known,
// so nothing of it is ever shown.
//   streaming MODEL PROMPT STOP
#include <iostream>
#include <utility>

#include <diecast/diecast.hpp>
#include <diecast/hf.hpp>
#include <diecast/reference.hpp>

int main(int argc, char** argv) try {
  if (argc != 4) throw diecast::Error("usage: streaming MODEL PROMPT STOP");
  diecast::Model model = diecast::open_model(argv[1]);  // a GGUF file or a folder
  auto backend = std::make_shared<const diecast::Reference<float>>(model.spec, model.weights);
  auto tokenizer = diecast::make_tokenizer(model.tokenizer);
  const diecast::Engine engine(std::move(model), std::move(backend), std::move(tokenizer));

  diecast::Session session = engine.session();
  const auto show = [](const diecast::Piece& piece) { std::cout << piece.text << std::flush; };
  const diecast::Answer answer = session.generate({.prompt = engine.prompt(argv[2]), .sampling = engine.sampling(), .max_tokens = 48, .stop = {argv[3]}}, show);
  std::cout << "\n[" << name(answer.finish_reason) << " after " << answer.usage.completion_tokens << " tokens]\n";
} catch (const diecast::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
