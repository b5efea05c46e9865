// The writer of configs: literals that no text can break out of, numbers that read back as the same bits, specs as a person writes them.
// The header made from hostile texts is compiled into this program (hostile.hpp, written by make_hostile.cpp); its constants are those texts.
#include <catch2/catch.hpp>

#include <bit>
#include <cstdlib>
#include <random>
#include <string>

#include <diecast/files/compiled.hpp>

#include "../../tools/cast/config_writer.hpp"
#include "hostile.hpp"
#include "hostile_texts.hpp"
#include "odd_specs.hpp"

using namespace diecast;

TEST_CASE("the compiler reads hostile texts back byte for byte") {
  const Compiled compiled = diecast::compiled<configs::hostile>();
  CHECK(std::string_view(configs::hostile::model_name, sizeof(configs::hostile::model_name) - 1) == hostile::every_byte());
  REQUIRE(compiled.tokenizer);
  CHECK(compiled.tokenizer->pre_tokenizer == hostile::quotes());
  CHECK(compiled.tokenizer->normalizer == hostile::with_nul());
  REQUIRE(compiled.chat_template);
  CHECK(*compiled.chat_template == hostile::chat_template());
  CHECK(compiled.parsed_template.has_value());  // it is a template all the same
  const Compiled large = diecast::compiled<configs::hostile_large>();
  CHECK(*large.chat_template == hostile::large_template());
  CHECK_FALSE(large.parsed_template.has_value());  // parsed when the engine starts
}

TEST_CASE("literals hold nothing but printable ASCII") {
  for (const std::string& text : {hostile::every_byte(), hostile::quotes(), hostile::with_nul(), hostile::chat_template()}) {
    const std::string escaped = cast::escaped(text);
    for (const char c : escaped) CHECK((c >= 0x20 && c < 0x7f));
    CHECK(escaped.find("??") == std::string::npos);
  }
  CHECK(cast::literal("a\"b\\c\n?\?/\0017") == R"("a\"b\\c\n?\?/\0017")");
}

TEST_CASE("numbers are written as a person writes them") {
  const std::vector<std::pair<double, std::string>> table{
      {1e-5, "1e-5"}, {1e-6, "1e-6"}, {100000, "100'000"}, {10000, "10'000"}, {1000000, "1'000'000"}, {1024, "1024"}, {0.7, "0.7"}, {0.001, "0.001"},
      {25.298221281347036, "25.298221281347036"}, {-1.5, "-1.5"}, {-12345, "-12'345"}, {0, "0"}, {-0.0, "-0.0"}, {1e20, "1e20"}, {1.5e-10, "1.5e-10"}};
  for (const auto& [value, text] : table) CHECK(cast::literal(value) == text);
  CHECK_THROWS_AS(cast::literal(std::nan("")), Error);
}

TEST_CASE("numbers read back as the same bits") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const double value = i % 2 == 0 ? std::bit_cast<double>(random()) : static_cast<double>(random() % 100000000) / 1000;
    if (!std::isfinite(value)) continue;
    std::string text = cast::literal(value);
    std::erase(text, '\'');
    const double back = std::strtod(text.c_str(), nullptr);
    if (std::bit_cast<std::uint64_t>(back) != std::bit_cast<std::uint64_t>(value)) FAIL(text);
  }
}

TEST_CASE("identifiers can name a struct, a file and a target") {
  CHECK(cast::identifier_of("Qwen2.5 0.5B") == "qwen2_5_0_5b");
  CHECK(cast::identifier_of("smollm2-135m-instruct") == "smollm2_135m_instruct");
  for (const std::string& name : {std::string("7b"), std::string(), std::string("class"), std::string("__x__"), hostile::every_byte(), hostile::quotes(),
                                  std::string(100000, 'a'), std::string("../../etc"), std::string("diecast")}) {
    INFO(name.substr(0, 50));
    CHECK(cast::is_identifier(cast::identifier_of(name)));
  }
  for (const char* wrong : {"", "7b", "a-b", "A", "class", "a__b", "_a", "a b", "a\n"}) CHECK_FALSE(cast::is_identifier(wrong));
}

TEST_CASE("specs are written as a person writes them") {
  const Spec spec{.hidden = 640, .layers = 18, .vocab = 262144, .context = 32768,
                  .attention = {.heads = 4, .kv_heads = 1, .head_dim = 256, .qk_norm = QkNorm::each_head,
                                .window = SlidingWindow{.length = 512, .full_every = 6, .rope = Rope{.theta = 10000}}},
                  .position = Rope{.theta = 1000000}, .norm = LayerNorm{.epsilon = 1e-6, .bias = false},
                  .mlp = GatedMlp{.width = 2048, .activation = Activation::gelu_tanh}, .head = TiedHead{}, .norm_placement = NormPlacement::before_and_after, .embedding_scale = 2};
  CHECK(cast::writing::spec_text(spec) == R"({
      .hidden = 640,
      .layers = 18,
      .vocab = 262144,
      .context = 32768,
      .attention = {.heads = 4,
                    .kv_heads = 1,
                    .head_dim = 256,
                    .qk_norm = diecast::QkNorm::each_head,
                    .window = diecast::SlidingWindow{.length = 512, .full_every = 6, .rope = diecast::Rope{.theta = 10'000}}},
      .position = diecast::Rope{.theta = 1'000'000},
      .norm = diecast::LayerNorm{.epsilon = 1e-6, .bias = false},
      .mlp = diecast::GatedMlp{.width = 2048, .activation = diecast::Activation::gelu_tanh},
      .head = diecast::TiedHead{},
      .norm_placement = diecast::NormPlacement::before_and_after,
      .embedding_scale = 2,
  })");
}

TEST_CASE("the compiler reads every odd spec back as it was") {
  const auto specs = testing::odd_specs();
  REQUIRE(specs.size() == configs::odd_specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    INFO(specs[i].first);
    CHECK(differences(configs::odd_specs[i], specs[i].second).empty());
    CHECK(configs::odd_specs[i] == specs[i].second);
  }
}

TEST_CASE("what a config says beside its spec is held against the file") {
  Model file = hostile::model();
  Compiled compiled = diecast::compiled<configs::hostile>();
  CHECK(different_facts(compiled, file).empty());
  CHECK(different_digests(*compiled.identity, identity_of(file)).empty());
  const auto refused = [&](auto change, const std::string& name) {
    Model other = hostile::model();
    change(other);
    const Identity all = identity_of(other);
    const auto by_digest = different_digests(*compiled.identity, all);
    REQUIRE(by_digest.size() == 1);
    CHECK(by_digest[0].starts_with(name + " digest: compiled "));
    CHECK(by_digest[0].find(", file ") != std::string::npos);
    CHECK_THROWS_WITH(check_identity(compiled, other, all), Catch::Contains(name + " digest: compiled "));
  };
  refused([](Model& m) { m.weights.embedding.rows = 7; }, "weights");
  refused([](Model& m) { m.tokenizer.pieces.push_back("x"); }, "tokenizer");
  refused([](Model& m) { *m.chat_template += 'x'; }, "chat template");
  refused([](Model& m) { m.generation.temperature = 0.75; }, "generation defaults");
  // Loading leaves the weights to verify.
  Model other = hostile::model();
  other.weights.embedding.rows = 7;
  CHECK_NOTHROW(check_identity(compiled, other, identity_without_weights(other)));
  // Without digests the facts themselves are compared.
  other = hostile::model();
  other.generation.top_k = 5;
  other.generation.eos = {1};
  other.chat_template.reset();
  const auto facts = different_facts(compiled, other);
  REQUIRE(facts.size() == 3);
  CHECK(facts[0].starts_with("chat template: compiled "));
  CHECK(facts[1] == "generation defaults: top_k: compiled 40, file 5");
  CHECK(facts[2] == "generation defaults: end ids: compiled 0, 2, file 1");
}
