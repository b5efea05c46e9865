// The real model of this repository on device code: 64 greedy tokens are the reference's, through single kernels and through the kernel that runs whole
// tokens, for two numbers of SMs, alone and in a batch with either padding.
#include "models.hpp"

#include <diecast/configs/tiny_shakespeare.hpp>
#include <diecast/files/open.hpp>

using namespace diecast;
using namespace diecast::testing;

namespace {

using Config = configs::tiny_shakespeare;
constexpr int steps = 64;

const Weights& weights() {
  static const Model model = open_model(std::string(DIECAST_SOURCE_DIR) + "/models/tiny-shakespeare");
  return model.weights;
}

std::vector<int> prompt(int length) {
  std::vector<int> ids;
  for (int i = 0; i < length; ++i) ids.push_back((i * 131 + 77) % Config::spec.vocab);
  return ids;
}

int best(std::span<const float> logits) { return static_cast<int>(std::max_element(logits.begin(), logits.end()) - logits.begin()); }

// Greedy ids of a padded batch.
std::vector<std::vector<int>> greedy(const Backend& backend, const std::vector<int>& lengths, bool left, int tokens) {
  const int width = *std::max_element(lengths.begin(), lengths.end()), batch = static_cast<int>(lengths.size());
  std::vector<int> input_ids(static_cast<std::size_t>(batch * width)), mask(input_ids.size());
  for (int row = 0; row < batch; ++row) {
    const int length = lengths[static_cast<std::size_t>(row)];
    for (int i = 0; i < length; ++i) {
      const auto at = static_cast<std::size_t>(row * width + (left ? width - length + i : i));
      input_ids[at] = prompt(length)[static_cast<std::size_t>(i)];
      mask[at] = 1;
    }
  }
  const auto context = backend.open(batch * 96);
  const BatchResult prefilled = prefill(*context, {input_ids, mask, batch, width});
  std::vector<std::vector<int>> ids(lengths.size());
  Logits logits = prefilled.logits;
  for (int token = 0; token < tokens; ++token) {
    std::vector<Row> rows;
    for (int row = 0; row < batch; ++row) {
      const auto at = static_cast<std::size_t>(row);
      ids[at].push_back(best(logits.row(row)));
      rows.push_back({ids[at].back(), lengths[at] + token, prefilled.sequences[at], true});
    }
    if (token + 1 < tokens) logits = context->forward(rows);
  }
  return ids;
}

}  // namespace

TEST_CASE("tiny-shakespeare decodes 64 greedy tokens as the reference does, through single kernels and whole tokens") {
  const Reference<float> reference(Config::spec, weights());
  const std::vector<int> lengths{12};
  const auto want = greedy(reference, lengths, false, steps);
  const Emulated<Config> single(weights(), {.processors = 3, .rows = 16});
  CHECK(greedy(single, lengths, false, steps) == want);
  for (const int processors : {2, 7}) {
    INFO(processors << " processors");
    const Emulated<Config> whole(weights(), {.processors = processors, .rows = 16, .ways = {.whole = true}});
    const auto context = whole.open_device(96);
    const int sequence = context->table().add();
    std::vector<Row> rows;
    for (int i = 0; i < 11; ++i) rows.push_back({prompt(12)[static_cast<std::size_t>(i)], i, sequence, false});
    context->forward(rows);
    CHECK(context->generate(std::vector<Row>{{prompt(12)[11], 11, sequence, true}}, steps, {}) == want);
  }
}

TEST_CASE("tiny-shakespeare in a batch, padded left and right, gives each sequence the ids that it has alone") {
  const Reference<float> reference(Config::spec, weights());
  const std::vector<int> lengths{3, 17, 9};
  constexpr int tokens = 16;
  std::vector<std::vector<int>> want;
  for (const int length : lengths) want.push_back(greedy(reference, {length}, false, tokens)[0]);
  for (const bool left : {true, false}) {
    const Emulated<Config> emulated(weights(), {.processors = 2, .rows = 24, .ways = {.whole = left}});
    CHECK(greedy(emulated, lengths, left, tokens) == want);
  }
}

TEST_CASE("tiny-shakespeare takes its prompt on tensor cores and decodes the reference's ids") {
  const Reference<float> reference(Config::spec, weights());
  const std::vector<int> lengths{24, 19};
  constexpr int tokens = 16;
  std::vector<std::vector<int>> want;
  for (const int length : lengths) want.push_back(greedy(reference, {length}, false, tokens)[0]);
  const Emulated<Config> emulated(weights(), {.processors = 3, .rows = 64, .ways = {.whole = true, .tensor_cores = true}});
  CHECK(greedy(emulated, lengths, true, tokens) == want);
}
