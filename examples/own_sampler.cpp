// One's own step 6. A sampler is nothing but a function from logits to an id, so the loop around it is written here in full: prefill, choose,
// decode. This one is greedy, but never says the same three tokens in a row twice (no_repeat_ngram_size of HF transformers).
//   own_sampler MODEL PROMPT
#include <algorithm>
#include <iostream>
#include <limits>
#include <utility>
#include <vector>

#include <diecast/diecast.hpp>
#include <diecast/hf.hpp>
#include <diecast/reference.hpp>

namespace {

// said: prompt and answer so far. logits: [vocab]
int choose(std::span<const int> said, std::span<const float> logits) {
  std::vector<float> allowed(logits.begin(), logits.end());
  for (std::size_t i = 0; i + 2 < said.size(); ++i)
    if (said[i] == said[said.size() - 2] && said[i + 1] == said.back()) allowed[static_cast<std::size_t>(said[i + 2])] = -std::numeric_limits<float>::infinity();
  return static_cast<int>(std::max_element(allowed.begin(), allowed.end()) - allowed.begin());
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) throw diecast::Error("usage: own_sampler MODEL PROMPT");
  const diecast::Model model = diecast::open_model(argv[1]);
  const diecast::Reference<float> backend(model.spec, model.weights);
  const auto tokenizer = diecast::make_tokenizer(model.tokenizer);

  std::vector<int> said = tokenizer->encode(diecast::plain_text(argv[2]));
  diecast::put_bos(*tokenizer, said);

  constexpr int most = 32;
  const auto context = backend.open(static_cast<int>(said.size()) + most);
  const int sequence = context->table().add();
  std::vector<std::vector<int>> next{said};      // what the cache does not hold yet: first the prompt, then one token at a time
  diecast::StreamDecoder decoder(*tokenizer);    // shows whole characters only
  for (int step = 0; step < most; ++step) {
    const diecast::Logits logits = context->forward(diecast::pack(context->table(), std::span(&sequence, 1), next));
    const int id = choose(said, logits.row(0));
    if (id == tokenizer->eos) break;
    said.push_back(id);
    next = {{id}};
    std::cout << decoder.next(id) << std::flush;
  }
  std::cout << decoder.finish() << '\n';
} catch (const diecast::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
