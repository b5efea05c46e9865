// A batch with padding, as a data loader hands it over: ids and a mask, both [batch, length]. Padding ends at the door: the backend sees packed
// rows, and every sequence gets the same bits as alone. Then all of them decode together, one row each.
//   batch MODEL PROMPT...
#include <algorithm>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <diecast/diecast.hpp>
#include <diecast/hf.hpp>
#include <diecast/reference.hpp>

namespace {

int likeliest(std::span<const float> logits) {  // [vocab]
  return static_cast<int>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// Every other prompt is padded on the left, the others on the right: the mask says which tokens count.
struct Padded {
  std::vector<int> input_ids, attention_mask;  // [batch, length]
  int batch, length;
};
Padded pad(const std::vector<std::vector<int>>& prompts) {
  std::size_t length = 0;
  for (const auto& prompt : prompts) length = std::max(length, prompt.size());
  Padded padded{{}, {}, static_cast<int>(prompts.size()), static_cast<int>(length)};
  padded.input_ids.assign(prompts.size() * length, 0);
  padded.attention_mask.assign(prompts.size() * length, 0);
  for (std::size_t row = 0; row < prompts.size(); ++row) {
    const std::size_t from = row * length + (row % 2 == 0 ? length - prompts[row].size() : 0);
    std::copy(prompts[row].begin(), prompts[row].end(), padded.input_ids.begin() + static_cast<std::ptrdiff_t>(from));
    std::fill_n(padded.attention_mask.begin() + static_cast<std::ptrdiff_t>(from), prompts[row].size(), 1);
  }
  return padded;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) throw diecast::Error("usage: batch MODEL PROMPT...");
  const diecast::Model model = diecast::open_model(argv[1]);
  const diecast::Reference<float> backend(model.spec, model.weights);
  const auto tokenizer = diecast::make_tokenizer(model.tokenizer);

  std::vector<std::vector<int>> prompts;
  for (int i = 2; i < argc; ++i) {
    prompts.push_back(tokenizer->encode(diecast::plain_text(argv[i])));
    diecast::put_bos(*tokenizer, prompts.back());
  }
  const Padded padded = pad(prompts);

  constexpr int most = 16;  // tokens of each answer
  const int blocks = (padded.length + most + diecast::BlockTable::block_tokens - 1) / diecast::BlockTable::block_tokens;
  const auto context = backend.open(padded.batch * blocks * diecast::BlockTable::block_tokens);
  diecast::BatchResult result = diecast::prefill(*context, {padded.input_ids, padded.attention_mask, padded.batch, padded.length});

  std::vector<std::string> answers(prompts.size());
  for (int step = 0;; ++step) {
    std::vector<std::vector<int>> next(prompts.size());  // one token for each sequence
    for (std::size_t s = 0; s < next.size(); ++s) {
      next[s] = {likeliest(result.logits.row(static_cast<int>(s)))};
      answers[s] += tokenizer->bytes(next[s].front());
    }
    if (step + 1 == most) break;
    result.logits = context->forward(diecast::pack(context->table(), result.sequences, next));
  }
  for (const std::string& answer : answers) std::cout << answer << "\n---\n";
} catch (const diecast::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
