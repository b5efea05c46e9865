// Whole folders: the model that lies in the repository, and small ones written here, whole and broken.
#include <diecast/hf.hpp>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "files/hf_support.hpp"

using namespace diecast;
using namespace diecast::testing;
using Catch::Matchers::Contains;

namespace {

// A whole folder of a llama of a few numbers.
void write_small(const TempFolder& folder) {
  folder.write("config.json",
               R"({"model_type":"llama","hidden_size":4,"num_attention_heads":2,"num_hidden_layers":1,"vocab_size":10,"intermediate_size":3,
    "max_position_embeddings":16,"tie_word_embeddings":true,"bos_token_id":0,"eos_token_id":2})");
  folder.write("generation_config.json", R"({"eos_token_id":[2,3],"do_sample":true,"temperature":0.7,"top_k":20,"top_p":0.8,"min_p":0.05,
    "repetition_penalty":1.1,"max_new_tokens":99})");
  folder.write(
      "tokenizer.json",
      R"({"added_tokens":[{"id":2,"content":"<e>","special":true},{"id":3,"content":"<f>","special":true},{"id":4,"content":"<g>","special":true}],
    "normalizer":null,"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},"post_processor":null,"decoder":{"type":"ByteLevel"},
    "model":{"type":"BPE","vocab":{"a":0,"b":1},"merges":[]}})");
  folder.write("tokenizer_config.json", R"({"eos_token":"<g>","chat_template":"{{ messages[0].content }}"})");
  const std::string in = "model.layers.0.";
  const auto ones = [](const std::string& name, const std::vector<std::uint64_t>& shape) {
    std::uint64_t size = 1;
    for (const auto extent : shape) size *= extent;
    return stored(name, shape, std::vector<float>(size, 1));
  };
  folder.write("model.safetensors",
               safetensors_text({ones("model.embed_tokens.weight", {10, 4}), ones(in + "input_layernorm.weight", {4}),
                                 ones(in + "post_attention_layernorm.weight", {4}), ones(in + "self_attn.q_proj.weight", {4, 4}),
                                 ones(in + "self_attn.k_proj.weight", {4, 4}), ones(in + "self_attn.v_proj.weight", {4, 4}),
                                 ones(in + "self_attn.o_proj.weight", {4, 4}), ones(in + "mlp.gate_proj.weight", {3, 4}),
                                 ones(in + "mlp.up_proj.weight", {3, 4}), ones(in + "mlp.down_proj.weight", {4, 3}),
                                 ones("model.norm.weight", {4})}));
}

}  // namespace

TEST_CASE("folder: tiny-shakespeare, which lies in the repository") {
  const Model model = read_folder(DIECAST_SOURCE_DIR "/models/tiny-shakespeare");
  CHECK(model.name == "tiny-shakespeare");
  CHECK(model.architecture == "gpt2");
  CHECK(model.spec == Spec{.hidden = 160,
                           .layers = 6,
                           .vocab = 2048,
                           .context = 256,
                           .attention = {.heads = 5, .kv_heads = 5, .head_dim = 32, .qkv_bias = true, .output_bias = true},
                           .position = Absolute{.positions = 256},
                           .norm = LayerNorm{.epsilon = 1e-5},
                           .mlp = PlainMlp{.width = 640, .activation = Activation::gelu_tanh, .bias = true},
                           .head = TiedHead{}});
  CHECK(model.tokenizer.pre_tokenizer == "gpt-2");
  REQUIRE(model.tokenizer.pieces.size() == 2048);
  CHECK(model.tokenizer.pieces[65] == "a");
  CHECK(model.tokenizer.kinds[0] == TokenKind::control);
  CHECK(model.tokenizer.merges.size() == 1791);
  CHECK(model.tokenizer.merges.back() == "ort al");
  CHECK(model.tokenizer.bos == 0);
  CHECK(model.tokenizer.eos == 0);
  CHECK(model.tokenizer.add_bos == false);
  CHECK(model.generation.eos == std::vector<int>{0});
  CHECK_FALSE(model.generation.do_sample.has_value());
  CHECK_FALSE(model.chat_template.has_value());
  REQUIRE(model.weights.layers.size() == 6);
  // Element [1, 160] of the first c_attn is element [0, 1] of K (read with numpy).
  const Tensor& k = model.weights.layers[0].k.weight;
  CHECK(k.format == Format::f16);
  CHECK(k.rows == 160);
  CHECK(hf_detail::stored_value(k.format, k.bytes.data() + 2) == -0.07611083984375f);
  CHECK(model.weights.embedding.rows == 2048);
  CHECK(model.weights.position->rows == 256);
}

TEST_CASE("folder: everything that a small one says") {
  const TempFolder folder;
  write_small(folder);
  Model model = read_folder(folder.path());
  CHECK(model.architecture == "llama");
  CHECK(model.path == folder.path());
  CHECK_FALSE(model.name.empty());
  CHECK(read_folder(folder.path() + "/").name == model.name);
  CHECK(model.generation.do_sample == true);
  CHECK(model.generation.temperature == 0.7);
  CHECK(model.generation.top_k == 20);
  CHECK(model.generation.top_p == 0.8);
  CHECK(model.generation.min_p == 0.05);
  CHECK(model.generation.repetition_penalty == 1.1);
  CHECK(model.generation.max_new_tokens == 99);
  CHECK(model.tokenizer.bos == 0);  // nothing but config.json names it
  CHECK(model.chat_template == "{{ messages[0].content }}");
  CHECK(model.weights.layers.size() == 1);

  folder.write("tokenizer_config.json", R"({"chat_template":[{"name":"tool_use","template":"T"},{"name":"default","template":"D"}]})");
  CHECK(read_folder(folder.path()).chat_template == "D");
  folder.write("chat_template.jinja", "J\n");
  CHECK(read_folder(folder.path()).chat_template == "J\n");
  folder.remove("chat_template.jinja");
  folder.write("tokenizer_config.json", R"({"chat_template":[{"name":"tool_use","template":"T"}]})");
  CHECK_THAT(sentence([&] { read_folder(folder.path()); }), Contains("none is named \"default\""));
  folder.remove("tokenizer_config.json");
  folder.remove("generation_config.json");
  model = read_folder(folder.path());
  CHECK_FALSE(model.chat_template.has_value());
  CHECK(model.generation.eos == std::vector<int>{2});
}

TEST_CASE("E1: the ids that end an answer are the union of all sources, an id or a list") {
  const TempFolder folder;
  write_small(folder);
  CHECK(read_folder(folder.path()).generation.eos == std::vector<int>{2, 3, 4});  // config 2, generation [2, 3], tokenizer <g>
  folder.write("generation_config.json", R"({"eos_token_id":3})");
  CHECK(read_folder(folder.path()).generation.eos == std::vector<int>{2, 3, 4});
  folder.write("generation_config.json", R"({"eos_token_id":null})");
  CHECK(read_folder(folder.path()).generation.eos == std::vector<int>{2, 4});
  for (const char* bad : {"-1", "10", "\"2\"", "2.0", "[2,[3]]", "[null]", "{}", "18446744073709551615"}) {
    INFO(bad);
    folder.write("generation_config.json", "{\"eos_token_id\":" + std::string(bad) + "}");
    CHECK_THAT(sentence([&] { read_folder(folder.path()); }),
               Contains("generation_config.json: eos_token_id has") && Contains("from 0 to 9"));
  }
}

TEST_CASE("folder: broken files are named, with the place") {
  const TempFolder folder;
  const auto refused = [&] { return sentence([&] { read_folder(folder.path()); }); };
  CHECK_THAT(sentence([&] { read_folder(folder.path() + "/none"); }), Contains("/none is not a folder"));
  CHECK_THAT(refused(), Contains("config.json cannot be opened"));
  for (const char* name : {"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"}) {
    INFO(name);
    write_small(folder);
    folder.write(name, "\xef\xbb\xbf{}");
    CHECK_THAT(refused(), Contains(std::string("/") + name) && Contains("byte order mark"));
    folder.write(name, "{\"a\":\n 1,,}");
    CHECK_THAT(refused(), Contains(std::string("/") + name) && Contains("breaks at line 2, column 4"));
    folder.write(name, "{\"a\":" + std::string(100'000, '['));
    CHECK_THAT(refused(), Contains(std::string("/") + name) && Contains("nests deeper"));
    folder.write(name, "3");
    CHECK_THAT(refused(), Contains(std::string("/") + name) && Contains("must be an object"));
    folder.remove(name);
  }
  write_small(folder);
  folder.remove("tokenizer.json");
  CHECK_THAT(refused(), Contains("neither tokenizer.json nor tokenizer.model"));
  write_small(folder);
  folder.write("generation_config.json", R"({"temperature":"hot"})");
  CHECK_THAT(refused(), Contains("temperature is \"hot\""));
  folder.write("generation_config.json", R"({"top_k":-1})");
  CHECK_THAT(refused(), Contains("top_k is -1"));
  write_small(folder);
  folder.write("tokenizer_config.json", R"({"chat_template":7})");
  CHECK_THAT(refused(), Contains("chat_template is 7, and must be a text"));
}
