// Each pre-tokenizer as the tokenizers package writes it (tests/data/tokens/chains.json) -> its GGUF name; any change is refused.
#include <diecast/files/hf_pre_tokenizer.hpp>
#include <diecast/tokens/pre_tokenizer.hpp>

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "files/hf_support.hpp"

using namespace diecast;
using namespace diecast::testing;
using Catch::Matchers::Contains;

namespace {

Json chains() {
  std::ifstream file(DIECAST_SOURCE_DIR "/tests/data/tokens/chains.json");
  return Json::parse(file).at("cases");
}
std::string answer(const Json& value) {
  std::string name;
  const std::string refusal = sentence([&] { name = hf_pre_tokenizer(value, "p"); });
  return name.empty() ? refusal : name;
}

}  // namespace

TEST_CASE("pre-tokenizers: what tokenizer.json spells out gets its name, and the name is known") {
  const Json all = chains();
  CHECK(all.size() == 12);
  for (const Json& known : all) {
    const auto name = known.at("name").get<std::string>();
    CHECK(hf_pre_tokenizer(known.at("pre_tokenizer"), "p") == name);
    CHECK(find_pre_tokenizer(name).name == name);
  }
}

TEST_CASE("pre-tokenizers: a step that is missing, doubled or out of order is refused") {
  for (const Json& known : chains()) {
    const Json& steps = known.at("pre_tokenizer").at("pretokenizers");
    INFO(known.at("name"));
    for (std::size_t i = 0; i < steps.size(); ++i) {
      Json other = known.at("pre_tokenizer");
      Json& list = other["pretokenizers"];
      list.erase(i);
      if (known.at("name") != "smollm" || i != 0) CHECK_THAT(answer(other), Contains("is not known"));
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(i), steps[i]);
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(i), steps[i]);
      CHECK_THAT(answer(other), Contains("is not known"));
      if (i == 0) continue;
      other = known.at("pre_tokenizer");
      std::swap(other["pretokenizers"][i - 1], other["pretokenizers"][i]);
      CHECK_THAT(answer(other), Contains("is not known"));
    }
  }
}

TEST_CASE("pre-tokenizers: to remove what a regex does not match is to isolate its matches, if it matches all") {
  for (const Json& known : chains()) {
    Json other = known.at("pre_tokenizer");
    Json& first = other["pretokenizers"][0];
    if (first.at("type") != "Split") continue;
    first["behavior"] = "Removed";
    CHECK_THAT(answer(other), Contains("behavior \"Removed\" and invert false is not supported"));
    first["invert"] = true;
    const auto name = known.at("name").get<std::string>();
    INFO(name);
    if (name == "bloom" || name.starts_with("deepseek")) CHECK_THAT(answer(other), Contains("behavior \"Removed\" and invert true"));
    else CHECK(answer(other) == name);
  }
}

TEST_CASE("pre-tokenizers: punctuation must stay in runs") {
  for (const char* behavior : {"Isolated", "Removed", "MergedWithNext"}) {
    const Json step = {{"type", "Punctuation"}, {"behavior", behavior}};
    CHECK_THAT(answer(step), Contains("Punctuation with behavior \"" + std::string(behavior) + "\" is not known"));
  }
}
