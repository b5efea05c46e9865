// The kernel that runs whole tokens, for models that normalise heads and branches, see windows, or have branches beside each other.
#include "models.hpp"

using namespace diecast;
using namespace diecast::testing;

namespace {

template <class Config>
int check_bits(std::uint64_t seed) {
  const Weights weights = random_weights(Config::spec, seed);
  const Emulated<Config> single(weights);
  const std::vector<int> ids = prompt_of(Config::spec, 11, static_cast<int>(seed));
  const LogitRows want = run_alone(single, ids, 11);
  int cases = 0;
  for (const auto& [processors, schedule] : std::vector<std::pair<int, simt::Schedule>>{
           {1, simt::Schedule::reverse}, {3, simt::Schedule::random}, {6, simt::Schedule::laggard}}) {
    INFO(processors << " processors");
    const Emulated<Config> whole(
        weights, {.processors = processors, .rows = 8, .ways = {.whole = true}, .launch = {.schedule = schedule, .seed = seed}});
    CHECK((run_alone(whole, ids, 4) == want));
    ++cases;
  }
  return cases;
}

}  // namespace

TEST_CASE("whole tokens in one kernel: norms of heads and branches, windows") {
  CHECK(check_bits<OddConfig<4>>(1) == 3);
  CHECK(check_bits<OddConfig<6>>(2) == 3);
}
TEST_CASE("whole tokens in one kernel: attention and MLP beside each other") {
  CHECK(check_bits<OddConfig<7>>(3) == 3);
  CHECK(check_bits<OddConfig<8>>(4) == 3);
}
