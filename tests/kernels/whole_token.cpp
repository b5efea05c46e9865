// The kernel that runs whole tokens: the same bits as single kernels, the same ids, on any number of SMs and under any schedule of the host
// executor, with races watched.
#include "models.hpp"

using namespace diecast;
using namespace diecast::testing;

namespace {

// Greedy ids of `steps` tokens after a prompt, on a backend that the host asks for every token.
std::vector<int> greedy(const Backend& backend, const std::vector<int>& prompt, int steps) {
  const auto context = backend.open(64);
  const int sequence = context->table().add();
  std::vector<Row> rows;
  for (std::size_t i = 0; i < prompt.size(); ++i) rows.push_back({prompt[i], static_cast<int>(i), sequence, i + 1 == prompt.size()});
  std::vector<int> ids;
  for (int step = 0; step < steps; ++step) {
    const auto logits = context->forward(rows).row(0);
    ids.push_back(static_cast<int>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
    rows = {{ids.back(), static_cast<int>(prompt.size()) + step, sequence, true}};
  }
  return ids;
}

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
  for (const auto& prompt : prompts) answers.push_back(greedy(reference, prompt, steps));
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

TEST_CASE("whole tokens in one kernel: RoPE, one K/V head") { CHECK(check_whole<OddConfig<0>>(1) == 25); }
TEST_CASE("whole tokens in one kernel: learned positions, biases, LayerNorm") { CHECK(check_whole<OddConfig<1>>(2) == 25); }
