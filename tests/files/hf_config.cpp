// config.json -> Spec. Expected values are those of the models' own published configs, and the defaults those of transformers 5.24.0
// (LlamaConfig() and so on).
#include <diecast/files/hf_config.hpp>

#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "files/hf_support.hpp"

using namespace diecast;
using namespace diecast::testing;
using Catch::Matchers::Contains;

namespace {

Spec spec_of(const std::string& text) { return hf_spec(parse_json(text, "config.json"), "config.json"); }
std::string refused(const std::string& text) {
  return sentence([&] { spec_of(text); });
}

const std::string llama =
    R"("model_type":"llama","hidden_size":64,"num_attention_heads":4,"num_hidden_layers":2,"vocab_size":96,"intermediate_size":80)";
std::string llama_with(const std::string& more) { return "{" + llama + (more.empty() ? "" : ",") + more + "}"; }
std::string gemma_with(const std::string& type, const std::string& more) {
  return R"({"model_type":")" + type + R"(","hidden_size":64,"num_attention_heads":4,"num_hidden_layers":12)" + (more.empty() ? "" : ",") +
         more + "}";
}

}  // namespace

TEST_CASE("config: the card of gpt2 (124M)") {
  const std::string path = DIECAST_SOURCE_DIR "/tests/data/models/gpt2/config.json";
  const Spec expected{.hidden = 768,
                      .layers = 12,
                      .vocab = 50'257,
                      .context = 1024,
                      .attention = {.heads = 12, .kv_heads = 12, .head_dim = 64, .qkv_bias = true, .output_bias = true},
                      .position = Absolute{.positions = 1024},
                      .norm = LayerNorm{.epsilon = 1e-5},
                      .mlp = PlainMlp{.width = 3072, .activation = Activation::gelu_tanh, .bias = true},
                      .head = TiedHead{}};
  CHECK(hf_spec(read_json(path), path) == expected);
  CHECK(spec_of(R"({"model_type":"gpt2"})") == expected);  // GPT2Config()
}

TEST_CASE("config: the card of qwen2.5-0.5b") {
  const std::string path = DIECAST_SOURCE_DIR "/tests/data/models/qwen2.5-0.5b/config.json";
  const Spec expected{.hidden = 896,
                      .layers = 24,
                      .vocab = 151'936,
                      .context = 32'768,
                      .attention = {.heads = 14, .kv_heads = 2, .head_dim = 64, .qkv_bias = true},
                      .position = Rope{.theta = 1e6},
                      .norm = RmsNorm{.epsilon = 1e-6},
                      .mlp = GatedMlp{.width = 4864, .activation = Activation::silu},
                      .head = TiedHead{}};
  CHECK(hf_spec(read_json(path), path) == expected);
}

TEST_CASE("config: what a file leaves out takes its family's default") {
  Spec expected{.hidden = 4096,
                .layers = 32,
                .vocab = 32'000,
                .context = 2048,
                .attention = {.heads = 32, .kv_heads = 32, .head_dim = 128},
                .position = Rope{.theta = 10'000},
                .norm = RmsNorm{.epsilon = 1e-6},
                .mlp = GatedMlp{.width = 11'008, .activation = Activation::silu},
                .head = UntiedHead{}};
  CHECK(spec_of(R"({"model_type":"llama"})") == expected);  // LlamaConfig()

  Spec mistral = expected;
  mistral.context = 131'072;
  mistral.attention.kv_heads = 8;
  mistral.mlp = GatedMlp{.width = 14'336, .activation = Activation::silu};
  CHECK(spec_of(R"({"model_type":"mistral","sliding_window":null})") == mistral);  // MistralConfig()
  mistral.attention.window = SlidingWindow{.length = 4096};
  CHECK(spec_of(R"({"model_type":"mistral"})") == mistral);

  Spec qwen2 = expected;
  qwen2.vocab = 151'936;
  qwen2.context = 32'768;
  qwen2.attention.qkv_bias = true;
  qwen2.mlp = GatedMlp{.width = 22'016, .activation = Activation::silu};
  CHECK(spec_of(R"({"model_type":"qwen2"})") == qwen2);  // Qwen2Config()

  const Spec gemma2{
      .hidden = 2304,
      .layers = 26,
      .vocab = 256'000,
      .context = 8192,
      .attention = {.heads = 8, .kv_heads = 4, .head_dim = 256, .soft_cap = 50.0, .window = SlidingWindow{.length = 4096, .full_every = 2}},
      .position = Rope{.theta = 10'000},
      .norm = RmsNorm{.epsilon = 1e-6},
      .mlp = GatedMlp{.width = 9216, .activation = Activation::gelu_tanh},
      .head = TiedHead{},
      .norm_placement = NormPlacement::before_and_after,
      .embedding_scale = 48.0,
      .logit_soft_cap = 30.0};
  CHECK(spec_of(R"({"model_type":"gemma2"})") == gemma2);  // Gemma2Config()

  Spec gemma3 = gemma2;
  gemma3.vocab = 262'208;
  gemma3.context = 131'072;
  gemma3.attention.qk_norm = QkNorm::each_head;
  gemma3.attention.soft_cap.reset();
  gemma3.attention.window = SlidingWindow{.length = 4096, .full_every = 6, .rope = Rope{.theta = 10'000}};
  gemma3.position = Rope{.theta = 1e6};
  gemma3.logit_soft_cap.reset();
  CHECK(spec_of(R"({"model_type":"gemma3_text"})") == gemma3);  // Gemma3TextConfig()
  CHECK(spec_of(R"({"model_type":"gemma3","text_config":{"model_type":"gemma3_text"}})") == gemma3);
}

TEST_CASE("config: gemma-3-270m as published, old and new spelling") {
  const Spec expected{.hidden = 640,
                      .layers = 18,
                      .vocab = 262'144,
                      .context = 32'768,
                      .attention = {.heads = 4,
                                    .kv_heads = 1,
                                    .head_dim = 256,
                                    .qk_norm = QkNorm::each_head,
                                    .window = SlidingWindow{.length = 512, .full_every = 6, .rope = Rope{.theta = 10'000}}},
                      .position = Rope{.theta = 1e6},
                      .norm = RmsNorm{.epsilon = 1e-6},
                      .mlp = GatedMlp{.width = 2048, .activation = Activation::gelu_tanh},
                      .head = TiedHead{},
                      .norm_placement = NormPlacement::before_and_after,
                      .embedding_scale = std::sqrt(640.0)};
  const std::string common =
      R"("model_type":"gemma3_text","hidden_size":640,"num_hidden_layers":18,"vocab_size":262144,"max_position_embeddings":32768,
    "num_attention_heads":4,"num_key_value_heads":1,"head_dim":256,"sliding_window":512,"intermediate_size":2048,"query_pre_attn_scalar":256,
    "attn_logit_softcapping":null,"final_logit_softcapping":null,"attention_bias":false,"use_bidirectional_attention":false,
    "hidden_activation":"gelu_pytorch_tanh","rms_norm_eps":1e-06)";
  CHECK(spec_of("{" + common +
                R"(,"rope_theta":1000000.0,"rope_local_base_freq":10000.0,"rope_scaling":null,"_sliding_window_pattern":6})") == expected);
  CHECK(spec_of("{" + common + R"(,"rope_parameters":{"full_attention":{"rope_type":"default","rope_theta":1000000.0},
    "sliding_attention":{"rope_type":"default","rope_theta":10000.0}},"layer_types":[)" +
                [] {
                  std::string types;
                  for (int i = 1; i <= 18; ++i)
                    types += std::string(i > 1 ? "," : "") + (i % 6 == 0 ? "\"full_attention\"" : "\"sliding_attention\"");
                  return types;
                }() +
                "]}") == expected);
}

TEST_CASE("R5: rope_theta at the top level, inside rope_parameters, inside rope_scaling, or absent") {
  const auto theta = [](const std::string& more) { return std::get<Rope>(spec_of(llama_with(more)).position).theta; };
  CHECK(theta(R"("rope_theta":500000)") == 500'000);
  CHECK(theta(R"("rope_parameters":{"rope_type":"default","rope_theta":500000.0})") == 500'000);
  CHECK(theta(R"("rope_scaling":{"type":"linear","factor":2,"rope_theta":500000.0})") == 500'000);
  CHECK(theta(R"("rope_theta":1,"rope_parameters":{"rope_theta":500000.0})") == 500'000);  // the inner one wins, as in transformers
  CHECK(theta("") == 10'000);
}

TEST_CASE("R2: scaling of RoPE under rope_type and type") {
  const auto scaling = [](const std::string& more) { return std::get<Rope>(spec_of(llama_with(more)).position).scaling; };
  const RopeScaling llama3 = Llama3Scaling{.factor = 32, .low_freq_factor = 1, .high_freq_factor = 4, .original_context = 8192};
  const std::string values = R"("factor":32.0,"low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":8192})";
  CHECK(scaling(R"("rope_scaling":{"rope_type":"llama3",)" + values) == llama3);
  CHECK(scaling(R"("rope_scaling":{"type":"llama3",)" + values) == llama3);
  CHECK(scaling(R"("rope_parameters":{"rope_theta":5e5,"rope_type":"llama3",)" + values) == llama3);
  CHECK(
      scaling(
          R"("max_position_embeddings":4096,"rope_scaling":{"rope_type":"llama3","factor":32,"low_freq_factor":1,"high_freq_factor":4})") ==
      RopeScaling(Llama3Scaling{32, 1, 4, 4096}));
  CHECK(scaling(R"("rope_scaling":{"rope_type":"linear","factor":8.0})") == RopeScaling(LinearScaling{8}));
  CHECK(scaling(R"("rope_scaling":{"type":"linear","factor":8.0})") == RopeScaling(LinearScaling{8}));
  CHECK_FALSE(scaling(R"("rope_scaling":{"rope_type":"default"})").has_value());
  CHECK_FALSE(scaling(R"("rope_scaling":null)").has_value());
  for (const char* kind : {"dynamic", "longrope", "su", "mrope"}) {
    INFO(kind);
    CHECK_THAT(refused(llama_with(R"("rope_scaling":{"rope_type":")" + std::string(kind) + R"(","factor":2})")),
               Contains("the RoPE scaling \"" + std::string(kind) + "\""));
    CHECK_THAT(refused(llama_with(R"("rope_scaling":{"type":")" + std::string(kind) + R"(","factor":2})")),
               Contains("the RoPE scaling \"" + std::string(kind) + "\""));
  }
  CHECK_THAT(refused(llama_with(R"("rope_scaling":{"rope_type":"linear"})")), Contains("factor is missing"));
  CHECK_THAT(refused(llama_with(R"("rope_scaling":{"rope_type":"linear","factor":0})")),
             Contains("factor is 0, and must be greater than 0"));
  CHECK_THAT(refused(llama_with(R"("rope_scaling":{"rope_type":"llama3","factor":8,"low_freq_factor":4,"high_freq_factor":1})")),
             Contains("high_freq_factor is 1"));
  CHECK_THAT(refused(llama_with(R"("rope_scaling":"linear")")), Contains("must be an object and is \"linear\""));
}

TEST_CASE("config: options of llama") {
  CHECK(spec_of(llama_with(R"("head_dim":24)")).attention.head_dim == 24);
  CHECK(spec_of(llama_with("")).attention.head_dim == 16);
  CHECK(spec_of(llama_with(R"("num_key_value_heads":2)")).attention.kv_heads == 2);
  CHECK(spec_of(llama_with(R"("num_key_value_heads":null)")).attention.kv_heads == 4);
  const Spec biased = spec_of(llama_with(R"("attention_bias":true,"mlp_bias":true,"tie_word_embeddings":true)"));
  CHECK(biased.attention.qkv_bias);
  CHECK(biased.attention.output_bias);
  CHECK(std::get<GatedMlp>(biased.mlp).bias);
  CHECK(biased.head == Head(TiedHead{}));
  CHECK(std::get<Rope>(spec_of(llama_with(R"("partial_rotary_factor":0.5)")).position).rotary_dim == 8);
  CHECK_THAT(refused(R"({"model_type":"llama","hidden_size":65,"num_attention_heads":4})"),
             Contains("65") && Contains("4 heads") && Contains("head_dim"));
}

TEST_CASE("config: activations") {
  const auto activation = [](const std::string& name) {
    return std::get<GatedMlp>(spec_of(llama_with(R"("hidden_act":")" + name + "\"")).mlp).activation;
  };
  CHECK(activation("silu") == Activation::silu);
  CHECK(activation("gelu") == Activation::gelu);
  CHECK(activation("gelu_new") == Activation::gelu_tanh);
  CHECK(activation("gelu_pytorch_tanh") == Activation::gelu_tanh);
  CHECK(activation("gelu_fast") == Activation::gelu_tanh);
  CHECK(activation("relu") == Activation::relu);
  CHECK_THAT(refused(llama_with(R"("hidden_act":"mish")")), Contains("the activation \"mish\" of hidden_act"));
}

TEST_CASE("config: options of gpt2") {
  const auto with = [](const std::string& more) {
    return R"({"model_type":"gpt2","n_embd":64,"n_head":4,"n_layer":2,"vocab_size":96)" + more + "}";
  };
  CHECK(std::get<PlainMlp>(spec_of(with(R"(,"n_inner":null)")).mlp).width == 256);
  CHECK(std::get<PlainMlp>(spec_of(with(R"(,"n_inner":100)")).mlp).width == 100);
  CHECK(spec_of(with(R"(,"scale_attn_weights":false)")).attention.scale == 1.0);
  CHECK_FALSE(spec_of(with(R"(,"reorder_and_upcast_attn":true)")).attention.scale.has_value());  // another order of the same product
  CHECK(spec_of(with(R"(,"tie_word_embeddings":false)")).head == Head(UntiedHead{}));
  CHECK_THAT(refused(with(R"(,"scale_attn_by_inverse_layer_idx":true)")),
             Contains("scale_attn_by_inverse_layer_idx is true, which is not supported"));
  CHECK_THAT(refused(with(R"(,"add_cross_attention":true)")), Contains("add_cross_attention is true"));
  CHECK_THAT(refused(R"({"model_type":"gpt2","n_embd":64,"n_head":7})"), Contains("n_embd 64 cannot be shared by n_head 7"));
  CHECK_THAT(refused(R"({"model_type":"gpt2","n_embd":2147483647,"n_head":1})"), Contains("8589934588"));
}

TEST_CASE("config: windows of qwen2") {
  const auto with = [](const std::string& more) {
    return R"({"model_type":"qwen2","num_hidden_layers":8,"sliding_window":128,"use_sliding_window":true)" + more + "}";
  };
  CHECK_FALSE(spec_of(with("")).attention.window.has_value());  // max_window_layers is 28: no layer has it
  CHECK(spec_of(with(R"(,"max_window_layers":0)")).attention.window == SlidingWindow{.length = 128});
  CHECK_THAT(refused(with(R"(,"max_window_layers":4)")), Contains("max_window_layers 4 of 8 layers"));
  CHECK_FALSE(spec_of(R"({"model_type":"qwen2","sliding_window":128,"max_window_layers":0})").attention.window.has_value());
}

TEST_CASE("config: windows and RoPE of gemma") {
  const auto all = [](const char* type) {
    std::string list;
    for (int i = 0; i < 12; ++i) list += std::string(i > 0 ? "," : "") + "\"" + type + "\"";
    return R"("layer_types":[)" + list + "]";
  };
  CHECK_FALSE(spec_of(gemma_with("gemma3_text", all("full_attention"))).attention.window.has_value());
  CHECK_FALSE(spec_of(gemma_with("gemma3_text", all("sliding_attention"))).attention.window->full_every.has_value());
  CHECK(spec_of(gemma_with("gemma3_text", R"("sliding_window_pattern":4)")).attention.window->full_every == 4);
  CHECK_FALSE(spec_of(gemma_with("gemma3_text", R"("sliding_window_pattern":1)")).attention.window.has_value());
  CHECK_THAT(refused(gemma_with("gemma3_text", R"("layer_types":["full_attention"])")), Contains("layer_types must be a list of 12"));
  CHECK_THAT(refused(gemma_with("gemma3_text", all("chunked_attention"))), Contains("\"chunked_attention\" of layer 0"));
  CHECK_THAT(
      refused(R"({"model_type":"gemma2","num_hidden_layers":3,"layer_types":["full_attention","sliding_attention","full_attention"]})"),
      Contains("no pattern"));
  // The larger Gemma 3 models scale the layers that see all, and only those.
  const Spec scaled = spec_of(gemma_with("gemma3_text", R"("rope_scaling":{"factor":8.0,"rope_type":"linear"})"));
  CHECK(scaled.position == Position(Rope{.theta = 1e6, .scaling = LinearScaling{8}}));
  CHECK(scaled.attention.window->rope == Rope{.theta = 10'000});
  // One RoPE everywhere is the model's.
  CHECK_FALSE(spec_of(gemma_with("gemma3_text", R"("rope_theta":10000)")).attention.window->rope.has_value());
  CHECK(*spec_of(gemma_with("gemma2", R"("query_pre_attn_scalar":144)")).attention.scale == Approx(1.0 / 12).epsilon(1e-15));
  CHECK_FALSE(spec_of(gemma_with("gemma2", R"("query_pre_attn_scalar":256)")).attention.scale.has_value());
  CHECK_FALSE(spec_of(gemma_with("gemma2", R"("attn_logit_softcapping":null)")).attention.soft_cap.has_value());
  CHECK_FALSE(spec_of(gemma_with("gemma2", R"("final_logit_softcapping":null)")).logit_soft_cap.has_value());
  CHECK_THAT(refused(gemma_with("gemma3_text", R"("use_bidirectional_attention":true)")), Contains("use_bidirectional_attention is true"));
  CHECK_THAT(refused(gemma_with("gemma3_text", R"("attn_logit_softcapping":50)")), Contains("attn_logit_softcapping"));
}

TEST_CASE("config: defaults of the later families") {
  // What transformers 5.24's configuration classes have without any argument.
  Spec qwen3{.hidden = 4096,
             .layers = 32,
             .vocab = 151'936,
             .context = 32'768,
             .attention = {.heads = 32, .kv_heads = 32, .head_dim = 128, .qk_norm = QkNorm::each_head},
             .position = Rope{.theta = 10'000},
             .norm = RmsNorm{.epsilon = 1e-6},
             .mlp = GatedMlp{.width = 22'016, .activation = Activation::silu},
             .head = UntiedHead{}};
  CHECK(spec_of(R"({"model_type":"qwen3"})") == qwen3);

  Spec granite = qwen3;
  granite.vocab = 32'000;
  granite.context = 2048;
  granite.attention = {.heads = 32, .kv_heads = 32, .head_dim = 128, .scale = 1.0};
  granite.mlp = GatedMlp{.width = 11'008, .activation = Activation::silu};
  CHECK(spec_of(R"({"model_type":"granite"})") == granite);
  granite.embedding_scale = 12.0;
  granite.residual_scale = 0.22;
  granite.logit_divisor = 8.0;
  granite.attention.scale = 0.0078125;
  CHECK(spec_of(R"({"model_type":"granite","embedding_multiplier":12.0,"residual_multiplier":0.22,"logits_scaling":8,
                    "attention_multiplier":0.0078125})") == granite);

  Spec olmo2 = qwen3;
  olmo2.vocab = 50'304;
  olmo2.context = 2048;
  olmo2.attention.qk_norm = QkNorm::all_heads;
  olmo2.norm = RmsNorm{.epsilon = 1e-5};
  olmo2.mlp = GatedMlp{.width = 11'008, .activation = Activation::silu};
  olmo2.norm_placement = NormPlacement::after;
  CHECK(spec_of(R"({"model_type":"olmo2"})") == olmo2);

  Spec phi3{.hidden = 3072,
            .layers = 32,
            .vocab = 32'064,
            .context = 4096,
            .attention = {.heads = 32, .kv_heads = 32, .head_dim = 96},
            .position = Rope{.theta = 10'000},
            .norm = RmsNorm{.epsilon = 1e-5},
            .mlp = GatedMlp{.width = 8192, .activation = Activation::silu},
            .head = UntiedHead{}};
  CHECK(spec_of(R"({"model_type":"phi3"})") == phi3);
  phi3.attention.window = SlidingWindow{.length = 2047};
  phi3.position = Rope{.theta = 10'000, .rotary_dim = 72};
  CHECK(spec_of(R"({"model_type":"phi3","sliding_window":2047,"partial_rotary_factor":0.75})") == phi3);

  const Spec gemma{.hidden = 3072,
                   .layers = 28,
                   .vocab = 256'000,
                   .context = 8192,
                   .attention = {.heads = 16, .kv_heads = 16, .head_dim = 256},
                   .position = Rope{.theta = 10'000},
                   .norm = RmsNorm{.epsilon = 1e-6},
                   .mlp = GatedMlp{.width = 24'576, .activation = Activation::gelu_tanh},
                   .head = TiedHead{},
                   .embedding_scale = std::sqrt(3072.0)};
  CHECK(spec_of(R"({"model_type":"gemma"})") == gemma);
  CHECK(spec_of(R"({"model_type":"gemma","hidden_act":"gelu","hidden_activation":"gelu_pytorch_tanh"})") == gemma);

  Spec stablelm{.hidden = 2560,
                .layers = 32,
                .vocab = 50'304,
                .context = 4096,
                .attention = {.heads = 32, .kv_heads = 32, .head_dim = 80},
                .position = Rope{.theta = 10'000, .rotary_dim = 20},
                .norm = LayerNorm{.epsilon = 1e-5},
                .mlp = GatedMlp{.width = 6912, .activation = Activation::silu},
                .head = UntiedHead{}};
  CHECK(spec_of(R"({"model_type":"stablelm"})") == stablelm);
  stablelm.residual = Residual::parallel_shared_norm;
  stablelm.attention.qkv_bias = true;
  CHECK(spec_of(R"({"model_type":"stablelm","use_parallel_residual":true,"use_qkv_bias":true})") == stablelm);

  const Spec starcoder2{.hidden = 3072,
                        .layers = 30,
                        .vocab = 49'152,
                        .context = 4096,
                        .attention = {.heads = 24, .kv_heads = 2, .head_dim = 128, .qkv_bias = true, .output_bias = true},
                        .position = Rope{.theta = 10'000},
                        .norm = LayerNorm{.epsilon = 1e-5},
                        .mlp = PlainMlp{.width = 12'288, .activation = Activation::gelu_tanh, .bias = true},
                        .head = TiedHead{}};
  CHECK(spec_of(R"({"model_type":"starcoder2"})") == starcoder2);

  Spec neox{.hidden = 6144,
            .layers = 44,
            .vocab = 50'432,
            .context = 2048,
            .attention = {.heads = 64, .kv_heads = 64, .head_dim = 96, .qkv_bias = true, .output_bias = true},
            .position = Rope{.theta = 10'000, .rotary_dim = 24},
            .norm = LayerNorm{.epsilon = 1e-5},
            .mlp = PlainMlp{.width = 24'576, .activation = Activation::gelu, .bias = true},
            .head = UntiedHead{},
            .residual = Residual::parallel};
  CHECK(spec_of(R"({"model_type":"gpt_neox"})") == neox);
  neox.residual = Residual::sequential;
  neox.position = Rope{.theta = 100, .rotary_dim = 48};
  CHECK(spec_of(R"({"model_type":"gpt_neox","use_parallel_residual":false,"rotary_pct":0.5,"rotary_emb_base":100})") == neox);
}

TEST_CASE("config: a value that a family's code reads and that needs other arithmetic is refused by its key") {
  for (const auto& [config, sentence] : {std::pair{R"({"model_type":"stablelm","qk_layernorm":true})", "qk_layernorm is true"},
                                         {R"({"model_type":"olmo2","clip_qkv":8.0})", "clip_qkv is not supported"},
                                         {R"({"model_type":"gemma","use_bidirectional_attention":true})", "use_bidirectional_attention is true"},
                                         {R"({"model_type":"gemma","hidden_act":"gelu","hidden_activation":"relu"})", "hidden_activation is \"relu\""},
                                         {R"({"model_type":"granite","position_embedding_type":"nope"})", "position_embedding_type is \"nope\""},
                                         {R"({"model_type":"phi3","rope_scaling":{"type":"longrope","short_factor":[1],"long_factor":[2]}})", "\"longrope\" is not supported"},
                                         {R"({"model_type":"phi3","rope_scaling":{"type":"su"}})", "\"su\" is not supported"},
                                         {R"({"model_type":"phi3","rope_scaling":{"type":"yarn","factor":4}})", "its only kind is longrope"},
                                         {R"({"model_type":"gpt_neox","head_dim":64})", "do not make the hidden size 6144"},
                                         {R"({"model_type":"gpt_neox","rotary_pct":1.5})", "must be at most 1"},
                                         {R"({"model_type":"granitemoe"})", "\"granitemoe\" (model_type) is not supported"},
                                         {R"({"model_type":"qwen3_moe","num_experts":128})", "mixture of experts"},
                                         {R"({"model_type":"qwen3_next"})", "\"qwen3_next\" (model_type) is not supported"},
                                         {R"({"model_type":"mamba2"})", "\"mamba2\" (model_type) is not supported"}}) {
    INFO(config);
    CHECK_THAT(refused(config), Contains(sentence));
  }
}

TEST_CASE("R2: YaRN as transformers reads it") {
  const auto yarn = [](const std::string& more) {
    const Spec spec = spec_of(R"({"model_type":"qwen2","max_position_embeddings":131072,"rope_scaling":{"rope_type":"yarn")" + more + "}}");
    return std::get<YarnScaling>(*std::get<Rope>(spec.position).scaling);
  };
  CHECK(yarn(R"(,"factor":4.0,"original_max_position_embeddings":32768)") == YarnScaling{.factor = 4, .original_context = 32'768});
  CHECK(yarn(R"(,"original_max_position_embeddings":32768)") == YarnScaling{.factor = 4, .original_context = 32'768});
  CHECK(yarn(R"(,"factor":4.0,"original_max_position_embeddings":32768,"beta_fast":64,"beta_slow":2,"attention_factor":1.5)") ==
        YarnScaling{4, 32'768, 64, 2, 1.5});
  // DeepSeek's two numbers; equal ones cancel.
  CHECK(yarn(R"(,"factor":4.0,"original_max_position_embeddings":32768,"mscale":1.0,"mscale_all_dim":1.0)").attention_factor == 1.0);
  CHECK(*yarn(R"(,"factor":4.0,"original_max_position_embeddings":32768,"mscale":2.0,"mscale_all_dim":0.5)").attention_factor ==
        Approx((0.2 * std::log(4.0) + 1) / (0.05 * std::log(4.0) + 1)).epsilon(1e-12));
  CHECK_THAT(refused(llama_with(R"("rope_scaling":{"rope_type":"yarn","factor":4.0,"truncate":false})")), Contains("truncate is false"));
  CHECK_THAT(refused(llama_with(R"("rope_scaling":{"rope_type":"yarn","factor":-4.0})")), Contains("factor is -4"));
}

TEST_CASE("N3: Gemma's embedding scale is the square root of the hidden size") {
  for (const auto& [hidden, scale] : {std::pair{3072, 55.425626}, {2048, 45.254834}, {2304, 48.0}, {3584, 59.866518}})
    CHECK(*spec_of(R"({"model_type":"gemma2","hidden_size":)" + std::to_string(hidden) + "}").embedding_scale ==
          Approx(scale).epsilon(1e-8));
}

TEST_CASE("config: other kinds of models are refused by name, before anything else is read") {
  const std::string bad = R"(,"hidden_size":-1)";
  CHECK_THAT(refused(R"({"model_type":"t5","is_encoder_decoder":true)" + bad + "}"),
             Contains("model_type \"t5\" is an encoder-decoder model"));
  CHECK_THAT(refused(R"({"model_type":"llama","quantization_config":{"quant_method":"gptq","bits":4})" + bad + "}"),
             Contains("quantized by \"gptq\""));
  CHECK_THAT(refused(R"({"model_type":"mixtral","num_local_experts":8)" + bad + "}"),
             Contains("\"mixtral\" is a mixture of experts (num_local_experts is 8)"));
  CHECK_THAT(refused(R"({"model_type":"qwen2_moe","num_experts":60)" + bad + "}"), Contains("mixture of experts (num_experts is 60)"));
  CHECK_THAT(refused(R"({"model_type":"gemma3","vision_config":{},"text_config":{})" + bad + "}"),
             Contains("a part for images or sound (vision_config)"));
  CHECK_THAT(refused(R"({"model_type":"mamba")" + bad + "}"), Contains("the architecture \"mamba\" (model_type) is not supported"));
  CHECK_THAT(refused("{}"), Contains("model_type is missing"));
  CHECK_THAT(refused(R"({"model_type":7})"), Contains("model_type is 7, and must be a text"));
  CHECK_THAT(refused("[]"), Contains("config.json must be an object and is a list"));
}

TEST_CASE("config: numbers of the wrong type, sign or size are named with their key") {
  for (const char* key : {"hidden_size", "num_hidden_layers", "vocab_size", "num_attention_heads", "num_key_value_heads",
                          "intermediate_size", "max_position_embeddings", "head_dim"})
    for (const char* value :
         {"0", "-5", "2147483648", "9223372036854775808", "18446744073709551615", "1e300", "64.0", "\"64\"", "[64]", "{}", "true"}) {
      INFO(key << " " << value);
      CHECK_THAT(refused("{\"model_type\":\"llama\",\"" + std::string(key) + "\":" + value + "}"),
                 Contains(": " + std::string(key) + " is ") && Contains("from 1 to 2147483647"));
    }
  CHECK_THAT(refused(llama_with(R"("rms_norm_eps":0)")), Contains("rms_norm_eps is 0, and must be greater than 0"));
  CHECK_THAT(refused(llama_with(R"("rms_norm_eps":"1e-5")")), Contains("rms_norm_eps is \"1e-5\", and must be a number"));
  CHECK_THAT(refused(llama_with(R"("rope_theta":-1)")), Contains("rope_theta is -1"));
  CHECK_THAT(refused(llama_with(R"("tie_word_embeddings":1)")), Contains("tie_word_embeddings is 1, and must be true or false"));
  CHECK_THAT(refused(llama_with(R"("hidden_act":null,"attention_bias":"no")")), Contains("attention_bias is \"no\""));
  // What the spec's own rules refuse: nothing that large is ever allocated.
  CHECK_THAT(refused(R"({"model_type":"llama","vocab_size":2147483647})"), Contains("config.json") && Contains("vocab must be"));
  CHECK_THAT(refused(llama_with(R"("num_key_value_heads":3)")), Contains("multiple of attention.kv_heads"));
}

TEST_CASE("JSON: broken text, a byte order mark, deep nesting and double keys are named with their place") {
  const auto broken = [](const std::string& text) { return sentence([&] { parse_json(text, "x/config.json"); }); };
  CHECK_THAT(broken("{\n  \"a\": 1,\n}"), Contains("x/config.json is not JSON: it breaks at line 3, column 1"));
  CHECK_THAT(broken(""), Contains("breaks at line 1, column 1"));
  CHECK_THAT(broken("\xef\xbb\xbf{}"), Contains("x/config.json starts with a byte order mark"));
  CHECK_THAT(broken("\xff\xfe{\0}"), Contains("byte order mark"));
  CHECK_THAT(broken("{\"a\": \"\xff\"}"), Contains("is not JSON"));
  CHECK_THAT(broken("{\"a\": 1e999}"), Contains("number too large"));
  CHECK_THAT(broken(std::string(1'000'000, '[')), Contains("nests deeper than 64 levels"));
  CHECK_THAT(broken(R"({"a":{"b":1,"b":2}})"), Contains("the key \"b\" twice"));
  CHECK(broken(R"({"a":{"b":1},"c":[{"b":1},{"b":2}]})").empty());
  CHECK(in_quotes("a\n\"b\"\x01") == R"("a\x0a\"b\"\x01")");
  CHECK(in_quotes(std::string(500, 'a')).size() == 125);
}
