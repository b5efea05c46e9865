// The kernel that runs whole tokens: the same bits as single kernels, the same ids, on any number of SMs and under any schedule of the host
// executor, with races watched.
#include <diecast/cuda/drawing.hpp>
#include <diecast/sample/sampler.hpp>

#include "models.hpp"

using namespace diecast;
using namespace diecast::testing;

namespace {

// The ids of `steps` tokens after a prompt, on a backend that the host asks for every token, the next one chosen from the logits.
template <class Choose>
std::vector<int> decoded(const Backend& backend, const std::vector<int>& prompt, int steps, Choose choose) {
  const auto context = backend.open(64);
  const int sequence = context->table().add();
  std::vector<Row> rows;
  for (std::size_t i = 0; i < prompt.size(); ++i) rows.push_back({prompt[i], static_cast<int>(i), sequence, i + 1 == prompt.size()});
  std::vector<int> ids;
  for (int step = 0; step < steps; ++step) {
    ids.push_back(choose(context->forward(rows).row(0)));
    rows = {{ids.back(), static_cast<int>(prompt.size()) + step, sequence, true}};
  }
  return ids;
}
int best(std::span<const float> logits) { return static_cast<int>(std::max_element(logits.begin(), logits.end()) - logits.begin()); }

template <class Config>
int check_whole(std::uint64_t seed) {
  const Weights weights = random_weights(Config::spec, seed);
  const Reference<double> reference(Config::spec, weights);
  const Emulated<Config> single(weights);
  const std::vector<int> ids = prompt_of(Config::spec, 11, static_cast<int>(seed));
  const LogitRows want = run_alone(single, ids, 11);
  const std::vector<std::vector<int>> prompts{{ids[0], ids[1], ids[2]}, {ids[3]}, {ids[4], ids[5], ids[6], ids[7], ids[8]}};
  constexpr int steps = 12;
  std::vector<std::vector<int>> answers;
  for (const auto& prompt : prompts) answers.push_back(decoded(reference, prompt, steps, best));
  int cases = 0;
  for (const auto& [processors, schedule] : std::vector<std::pair<int, simt::Schedule>>{{1, simt::Schedule::forward},
                                                                                        {2, simt::Schedule::reverse},
                                                                                        {3, simt::Schedule::random},
                                                                                        {5, simt::Schedule::laggard},
                                                                                        {8, simt::Schedule::random}}) {
    INFO(processors << " processors");
    const Emulated<Config> whole(weights, {.processors = processors,
                                           .rows = 8,
                                           .ways = {.whole = true},
                                           .launch = {.schedule = schedule, .seed = seed + static_cast<std::uint64_t>(processors)}});
    CHECK((run_alone(whole, ids, 4) == want));
    ++cases;
    // Three sequences at once: all of a prompt but its last token in single steps, then one launch for all tokens.
    const auto context = whole.open_device(3 * 48);
    std::vector<Row> last;
    for (const auto& prompt : prompts) {
      const int sequence = context->table().add();
      for (std::size_t i = 0; i + 1 < prompt.size(); ++i)
        context->forward(std::vector<Row>{{prompt[i], static_cast<int>(i), sequence, false}});
      last.push_back({prompt.back(), static_cast<int>(prompt.size()) - 1, sequence, true});
    }
    CHECK(context->generate(last, steps, {}) == answers);
    ++cases;
    // With stop ids a sequence ends where it meets one; the others go on, and the cache holds what came before.
    for (std::size_t row = 0; row < last.size(); ++row) context->table().truncate(last[row].sequence, last[row].position);
    const std::vector<int> stops{answers[0][4]};
    const auto stopped = context->generate(last, steps, stops);
    for (std::size_t row = 0; row < answers.size(); ++row) {
      std::vector<int> expected;
      for (const int id : answers[row]) {
        expected.push_back(id);
        if (id == stops[0]) break;
      }
      CHECK(stopped[row] == expected);
      CHECK(context->table().length(last[row].sequence) == last[row].position + static_cast<int>(expected.size()));
      ++cases;
    }
  }
  return cases;
}

}  // namespace

TEST_CASE("whole tokens in one kernel: ids are drawn on the device as the host's sampler draws them, each row in its own way") {
  using Config = OddConfig<0>;
  const Weights weights = random_weights(Config::spec, 5);
  const Emulated<Config> single(weights);
  const std::vector<int> ids = prompt_of(Config::spec, 4, 5);
  constexpr int steps = 8, before = 3;  // each answer has some tokens behind it, which its noise knows
  std::vector<SamplingOptions> ways(4);
  ways[0] = {.temperature = 0.8, .top_k = 5, .seed = 1};
  ways[1] = {.temperature = 0, .seed = 2};
  ways[2] = {.temperature = 2, .top_p = 0.8, .min_p = 0.02, .seed = 3};
  ways[3] = {.temperature = 1.5, .top_k = 20, .top_p = 0.9, .seed = 4, .order = FilterOrder::temperature_last};
  std::vector<std::vector<int>> want;
  std::vector<kernels::Drawing> drawings;
  int not_best = 0;
  for (std::size_t row = 0; row < ways.size(); ++row) {
    Sampler sampler(ways[row], Config::spec.vocab, {}, static_cast<std::uint32_t>(row));
    for (int i = 0; i < before; ++i) sampler.sample(std::vector<float>(static_cast<std::size_t>(Config::spec.vocab)));
    want.push_back(decoded(single, {ids[row]}, steps, [&](std::span<const float> logits) {
      const int id = sampler.sample(logits);
      not_best += id != best(logits);
      return id;
    }));
    drawings.push_back(cuda::drawing_of(ways[row], *ways[row].seed, static_cast<std::uint32_t>(row), before));
  }
  CHECK(not_best > 5);
  for (const auto& [processors, schedule] : std::vector<std::pair<int, simt::Schedule>>{
           {1, simt::Schedule::reverse}, {3, simt::Schedule::random}, {6, simt::Schedule::laggard}}) {
    INFO(processors << " processors");
    const Emulated<Config> whole(
        weights, {.processors = processors, .rows = 8, .ways = {.whole = true}, .launch = {.schedule = schedule, .seed = 9}});
    const auto context = whole.open_device(4 * 16);
    std::vector<Row> rows;
    for (std::size_t row = 0; row < ways.size(); ++row) rows.push_back({ids[row], 0, context->table().add(), true});
    CHECK(context->generate(rows, steps, {}, drawings) == want);
  }
}
TEST_CASE("whole tokens in one kernel: RoPE, one K/V head") { CHECK(check_whole<OddConfig<0>>(1) == 25); }
TEST_CASE("whole tokens in one kernel: learned positions, biases, LayerNorm") { CHECK(check_whole<OddConfig<1>>(2) == 25); }
