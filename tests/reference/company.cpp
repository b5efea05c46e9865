// The reference keeps the promise for whole answers, too: alone, batched, cached, evicted and computed again, forked, beside a cancelled neighbour.
#include <diecast/hf.hpp>
#include <diecast/reference/reference.hpp>
#include <diecast/tokens/make_tokenizer.hpp>

#include <company.hpp>
#include <odd_specs.hpp>
#include <random_weights.hpp>
#include <scripted.hpp>

using namespace diecast;

TEST_CASE("P5, V5: answers are the same alone and in any company, on odd specs") {
  for (const auto& [name, spec] : testing::odd_specs()) {
    INFO(name);
    std::vector<std::string> pieces;
    for (int id = 0; id < spec.vocab; ++id) pieces.push_back("p" + std::to_string(id));
    testing::check_company(std::make_shared<const Reference<float>>(spec, testing::random_weights(spec, 7), 2), std::make_shared<scripted::Toy>(pieces));
  }
}

TEST_CASE("P5, V5: answers are the same alone and in any company, with a trained model", "[slow]") {
  const Model model = open_model(std::string(DIECAST_SOURCE_DIR) + "/models/tiny-shakespeare");
  testing::check_company(std::make_shared<const Reference<float>>(model.spec, model.weights, 2), make_tokenizer(model.tokenizer));
}
