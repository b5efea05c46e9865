// The shipped configs without a trained model at hand: what their committed config.json says, and that they run, with random weights.
// All extents are the model's own but the number of layers, which is a run-time loop.
#include <diecast/reference/reference.hpp>

#include <catch2/catch.hpp>

#include <cmath>

#include <diecast/backend/door.hpp>
#include <diecast/configs/gpt2.hpp>
#include <diecast/configs/qwen2_5_0_5b.hpp>
#include <diecast/files/compiled.hpp>
#include <diecast/files/hf_config.hpp>
#include <diecast/spec/compare.hpp>

#include "random_weights.hpp"

using namespace diecast;

namespace {

template <class Config>
void check_config(const std::string& folder) {
  const std::string where = std::string(DIECAST_SOURCE_DIR) + "/tests/data/models/" + folder + "/config.json";
  CHECK(differences(compiled<Config>().spec.value(), hf_spec(read_json(where), where)) == std::vector<std::string>{});
  CHECK(Config::name == folder);

  Spec spec = Config::spec;
  spec.layers = 2;
  const Reference<float> backend(spec, testing::random_weights(spec), 2);
  const auto context = backend.open(32);
  const std::vector<int> sequences{context->table().add()};
  const std::vector<std::vector<int>> prompt{{1, 2, spec.vocab - 1}}, next{{0}};
  const auto first = context->forward(pack(context->table(), sequences, prompt)).row(0);
  const std::vector<float> after_prompt(first.begin(), first.end());
  const auto second = context->forward(pack(context->table(), sequences, next)).row(0);
  REQUIRE(static_cast<int>(after_prompt.size()) == spec.vocab);
  bool finite = true, equal = true;
  for (std::size_t i = 0; i < after_prompt.size(); ++i) {
    finite = finite && std::isfinite(after_prompt[i]) && std::isfinite(second[i]);
    equal = equal && after_prompt[i] == second[i];
  }
  CHECK(finite);
  CHECK_FALSE(equal);
}

}  // namespace

TEST_CASE("gpt2 is its config.json, and runs") { check_config<configs::gpt2>("gpt2"); }
TEST_CASE("qwen2.5-0.5b is its config.json, and runs", "[slow]") { check_config<configs::qwen2_5_0_5b>("qwen2.5-0.5b"); }
