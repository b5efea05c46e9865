// RoPE against double-precision values of the papers' formulas (tests/oracle/make_rope_goldens.py): whole and partial heads, odd numbers
// of pairs, linear, llama3 and YaRN scaling, positions 0 to 8191.
#include <diecast/reference/rope.hpp>

#include <catch2/catch.hpp>

#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

using namespace diecast;
using namespace diecast::reference;
using nlohmann::json;

namespace {

json cases() { return json::parse(std::ifstream(DIECAST_SOURCE_DIR "/tests/data/rope/rope.json"))["cases"]; }

Rope rope_of(const json& from) {
  Rope rope{.theta = from["theta"].get<double>()};
  if (from["rotary_dim"] != from["head_dim"]) rope.rotary_dim = from["rotary_dim"].get<int>();
  const json& scaling = from["scaling"];
  if (scaling.is_null()) return rope;
  if (scaling["type"] == "linear") {
    rope.scaling = LinearScaling{scaling["factor"].get<double>()};
  } else if (scaling["type"] == "yarn") {
    rope.scaling = YarnScaling{.factor = scaling["factor"].get<double>(),
                               .original_context = scaling["original_context"].get<int>(),
                               .beta_fast = scaling["beta_fast"].get<double>(),
                               .beta_slow = scaling["beta_slow"].get<double>()};
  } else {
    rope.scaling = Llama3Scaling{.factor = scaling["factor"].get<double>(),
                                 .low_freq_factor = scaling["low_freq_factor"].get<double>(),
                                 .high_freq_factor = scaling["high_freq_factor"].get<double>(),
                                 .original_context = scaling["original_context"].get<int>()};
  }
  return rope;
}

// The goldens have 12 digits of values under 8; a rotation in Real rounds cosine, sine, two products and a sum.
template <class Real>
bool turns_to(const json& from, double position, const std::vector<double>& frequencies, double stretch, const json& to) {
  auto head = from.get<std::vector<Real>>();
  rotate(head.data(), frequencies, position, stretch);
  const double bound = sizeof(Real) == 8 ? 1e-10 : 3e-6;
  for (std::size_t i = 0; i < head.size(); ++i)
    if (!(std::abs(static_cast<double>(head[i]) - to[i].get<double>()) <= bound)) return false;
  return head.size() == to.size();
}

}  // namespace

TEST_CASE("R2: every pair's frequency is that of the papers' formulas") {
  for (const json& golden : cases()) {
    INFO(golden["name"]);
    const auto frequencies = inverse_frequencies(rope_of(golden), golden["head_dim"].get<int>());
    REQUIRE(frequencies.size() == golden["inv_freq"].size());
    for (std::size_t pair = 0; pair < frequencies.size(); ++pair) {
      INFO("pair " << pair);
      const double expected = golden["inv_freq"][pair].get<double>();
      CHECK(std::abs(frequencies[pair] - expected) <= 1e-11 * expected);
    }
  }
}

TEST_CASE("R1: Q and K turned at positions 0 to 8191; what RoPE leaves alone stays") {
  for (const json& golden : cases()) {
    const auto frequencies = inverse_frequencies(rope_of(golden), golden["head_dim"].get<int>());
    const double stretch = stretch_of(rope_of(golden));
    for (const json& turned : golden["rotated"]) {
      const double position = turned["position"].get<double>();
      INFO(golden["name"] << ", position " << position);
      for (const char* vector : {"q", "k"}) {
        CHECK(turns_to<double>(golden[vector], position, frequencies, stretch, turned[vector]));
        CHECK(turns_to<float>(golden[vector], position, frequencies, stretch, turned[vector]));
      }
    }
  }
}
