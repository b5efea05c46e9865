// Whole models out of GGUF: the spec, and where each weight comes from.
// Expected specs are written out by hand from the keys; orders of rows by hand from the converter's permutation.
#include <diecast/files/gguf_model.hpp>

#include <catch2/catch.hpp>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "files/gguf_builder.hpp"

using namespace diecast;
using namespace diecast_test;
using Catch::Contains;

namespace {

Model read(const GgufBuilder& builder) { return read_gguf(builder.open()); }

std::string refusal(const GgufBuilder& builder) {
  try {
    read(builder);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::vector<float> values(const Tensor& tensor) {
  std::vector<float> result(static_cast<std::size_t>(tensor.rows * tensor.cols));
  decode_tensor(tensor, result);
  return result;
}

// Every row filled with its number.
std::vector<float> numbered_rows(int rows, int cols) {
  std::vector<float> result;
  for (int i = 0; i < rows * cols; ++i) result.push_back(static_cast<float>(i / cols));
  return result;
}
std::vector<float> first_of_each_row(const Tensor& tensor) {
  const auto all = values(tensor);
  std::vector<float> result;
  for (std::size_t i = 0; i < all.size(); i += static_cast<std::size_t>(tensor.cols)) result.push_back(all[i]);
  return result;
}

const Spec tiny_llama_spec{.hidden = 12, .layers = 2, .vocab = 16, .context = 32,
                           .attention = {.heads = 2, .kv_heads = 1, .head_dim = 6},
                           .position = Rope{.theta = 10000}, .norm = RmsNorm{.epsilon = 1e-5},
                           .mlp = GatedMlp{.width = 20, .activation = Activation::silu}, .head = TiedHead{}};

}  // namespace

TEST_CASE("llama: the spec, names and defaults") {
  const Model model = read(tiny_llama());
  CHECK(model.spec == tiny_llama_spec);
  CHECK(model.name == "Tiny");
  CHECK(model.architecture == "llama");
  CHECK(model.path == "tiny.gguf");
  REQUIRE(model.weights.layers.size() == 2);
  const LayerWeights& layer = model.weights.layers[1];
  CHECK(layer.down.weight.rows == 12);
  CHECK(layer.down.weight.cols == 20);
  CHECK(layer.gate->weight.rows == 20);
  CHECK(layer.k.weight.rows == 6);
  CHECK(layer.mlp_norm->weight.rows == 1);
  CHECK_FALSE(layer.q.bias);
  CHECK_FALSE(model.weights.head);

  // Absent keys mean what they mean in llama.cpp: base 10000, as many KV heads as heads, all of a head turns.
  GgufBuilder bare = tiny_llama();
  bare.remove_key("llama.rope.freq_base").remove_key("llama.rope.dimension_count").remove_key("llama.vocab_size");
  CHECK(read(bare).spec == tiny_llama_spec);
  bare.remove_key("llama.attention.head_count_kv");
  for (const std::string block : {"blk.0.", "blk.1."}) bare.some_tensor(block + "attn_k.weight", {12, 12}).some_tensor(block + "attn_v.weight", {12, 12});
  CHECK(read(bare).spec.attention.kv_heads == 2);
}

TEST_CASE("llama: a head size of its own and partial RoPE") {
  GgufBuilder builder = tiny_llama();
  builder.u32("llama.attention.key_length", 10).u32("llama.attention.value_length", 10).u32("llama.rope.dimension_count", 4);
  for (const std::string block : {"blk.0.", "blk.1."}) {
    builder.tensor(block + "attn_q.weight", {12, 20}, numbered_rows(20, 12)).some_tensor(block + "attn_k.weight", {12, 10});
    builder.some_tensor(block + "attn_v.weight", {12, 10}).some_tensor(block + "attn_output.weight", {20, 12});
  }
  const Model model = read(builder);
  CHECK(model.spec.attention.head_dim == 10);
  CHECK(std::get<Rope>(model.spec.position).rotary_dim == 4);
  CHECK(first_of_each_row(model.weights.layers[0].q.weight) ==
        std::vector<float>{0, 2, 1, 3, 4, 5, 6, 7, 8, 9, 10, 12, 11, 13, 14, 15, 16, 17, 18, 19});
  builder.u32("llama.attention.value_length", 8);
  CHECK_THAT(refusal(builder), Contains("keys have the length 10 and values 8"));
  builder.u32("llama.attention.value_length", 10).u32("llama.rope.dimension_count", 12);
  CHECK_THAT(refusal(builder), Contains("RoPE turns 12 values of a head that has 10"));
  builder.u32("llama.rope.dimension_count", 3);
  CHECK_THAT(refusal(builder), Contains("RoPE turns 3 values"));
}

TEST_CASE("R1: llama's neighbouring RoPE pairs become halves, in Q, K and their biases, in every format") {
  // The converter stores row i of the first half and row i of the second half next to each other: head size 6, rows 0 3 1 4 2 5.
  GgufBuilder builder = tiny_llama();
  std::vector<float> q, k_bias{0, 3, 1, 4, 2, 5}, q_bias;
  for (const int row : {0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11}) {
    q.insert(q.end(), 12, static_cast<float>(row));
    q_bias.push_back(static_cast<float>(row));
  }
  for (const std::string block : {"blk.0.", "blk.1."}) {
    builder.tensor(block + "attn_q.weight", {12, 12}, q).tensor(block + "attn_q.bias", {12}, q_bias);
    builder.tensor(block + "attn_k.bias", {6}, k_bias).tensor(block + "attn_v.bias", {6}, k_bias);
  }
  const Model model = read(builder);
  const LayerWeights& layer = model.weights.layers[1];
  CHECK(model.spec.attention.qkv_bias);
  CHECK(first_of_each_row(layer.q.weight) == std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(values(*layer.q.bias) == std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(values(*layer.k.bias) == std::vector<float>{0, 1, 2, 3, 4, 5});
  CHECK(values(*layer.v.bias) == k_bias);  // V does not turn
  CHECK(layer.q.bias->rows == 1);
  CHECK(layer.q.bias->cols == 12);

  // Blocks move with their row: K in Q8_0 with hidden 32, scale 1 and q = row.
  GgufBuilder blocks = tiny_llama();
  blocks.u32("llama.embedding_length", 32).u32("llama.attention.key_length", 6).u32("llama.attention.value_length", 6);
  blocks.some_tensor("token_embd.weight", {32, 16}).some_tensor("output_norm.weight", {32});
  Bytes k;
  for (const int row : {0, 3, 1, 4, 2, 5}) {
    append(k, std::uint16_t{0x3c00});
    k.insert(k.end(), 32, static_cast<std::byte>(row));
  }
  for (const std::string block : {"blk.0.", "blk.1."}) {
    blocks.some_tensor(block + "attn_norm.weight", {32}).some_tensor(block + "ffn_norm.weight", {32});
    blocks.some_tensor(block + "attn_q.weight", {32, 12}).tensor(block + "attn_k.weight", Format::q8_0, {32, 6}, k);
    blocks.some_tensor(block + "attn_v.weight", {32, 6}).some_tensor(block + "attn_output.weight", {12, 32});
    blocks.some_tensor(block + "ffn_gate.weight", {32, 20}).some_tensor(block + "ffn_up.weight", {32, 20}).some_tensor(block + "ffn_down.weight", {20, 32});
  }
  const Model mixed = read(blocks);
  CHECK(mixed.weights.layers[0].k.weight.format == Format::q8_0);
  CHECK(first_of_each_row(mixed.weights.layers[0].k.weight) == std::vector<float>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("qwen2: biases, and rows that stay as they are") {
  GgufBuilder builder = tiny_qwen2();
  builder.tensor("blk.0.attn_q.weight", {12, 12}, numbered_rows(12, 12));
  const Model model = read(builder);
  Spec expected = tiny_llama_spec;
  expected.attention.qkv_bias = true;
  CHECK(model.spec == expected);
  CHECK(first_of_each_row(model.weights.layers[0].q.weight) == std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  builder.remove_tensor("blk.1.attn_k.bias");
  CHECK_THAT(refusal(builder), Contains("the tensor 'blk.1.attn_k.bias' is missing"));
  builder.remove_tensor("blk.1.attn_q.bias").remove_tensor("blk.1.attn_v.bias");
  CHECK_THAT(refusal(builder), Contains("layer 1 has other biases than layer 0"));
}

TEST_CASE("gpt2: learned positions, and Q, K and V as slices of one matrix, nothing copied") {
  GgufBuilder builder = tiny_gpt2();
  std::vector<float> bias;
  for (int i = 0; i < 36; ++i) bias.push_back(static_cast<float>(i));
  builder.tensor("blk.1.attn_qkv.weight", {12, 36}, numbered_rows(36, 12)).tensor("blk.1.attn_qkv.bias", {36}, bias);
  const Gguf file = builder.open();
  const Model model = read_gguf(file);
  CHECK(model.spec == Spec{.hidden = 12, .layers = 2, .vocab = 16, .context = 32,
                           .attention = {.heads = 3, .kv_heads = 3, .head_dim = 4, .qkv_bias = true, .output_bias = true},
                           .position = Absolute{32}, .norm = LayerNorm{.epsilon = 1e-5, .bias = true},
                           .mlp = PlainMlp{.width = 20, .activation = Activation::gelu_tanh, .bias = true}, .head = TiedHead{}});
  const LayerWeights& layer = model.weights.layers[1];
  for (const auto& [part, begin] : {std::pair{&layer.q, 0}, std::pair{&layer.k, 12}, std::pair{&layer.v, 24}}) {
    REQUIRE(part->weight.rows == 12);
    CHECK(first_of_each_row(part->weight).front() == static_cast<float>(begin));
    CHECK(first_of_each_row(part->weight).back() == static_cast<float>(begin + 11));
    CHECK(values(*part->bias).front() == static_cast<float>(begin));
    CHECK(values(*part->bias).back() == static_cast<float>(begin + 11));
    CHECK(part->bias->cols == 12);
  }
  CHECK(layer.k.weight.bytes.data() == file.tensor("blk.1.attn_qkv.weight")->bytes.data() + 12 * 12 * 4);
  CHECK_FALSE(layer.gate);
  CHECK(model.weights.position->rows == 32);
  CHECK(model.weights.final_norm.bias);
}

TEST_CASE("gemma3: window pattern, two bases, QK-norm, norms before and after, scaled embedding") {
  const Spec expected{.hidden = 12, .layers = 2, .vocab = 16, .context = 32,
                      .attention = {.heads = 2, .kv_heads = 1, .head_dim = 8, .qk_norm = QkNorm::each_head,
                                    .window = SlidingWindow{.length = 4, .full_every = 6, .rope = Rope{.theta = 10000}}},
                      .position = Rope{.theta = 1e6}, .norm = RmsNorm{.epsilon = 1e-5},
                      .mlp = GatedMlp{.width = 20, .activation = Activation::gelu_tanh}, .head = TiedHead{},
                      .norm_placement = NormPlacement::before_and_after, .embedding_scale = std::sqrt(12.0)};
  const Model model = read(tiny_gemma());
  CHECK(model.spec == expected);
  CHECK(model.weights.layers[1].q_norm->cols == 8);
  CHECK(model.weights.layers[1].after_mlp->weight.name == "blk.1.post_ffw_norm.weight");
  CHECK(model.weights.layers[1].after_attention->weight.name == "blk.1.post_attention_norm.weight");

  GgufBuilder said = tiny_gemma();
  said.u32("gemma3.attention.sliding_window_pattern", 2).f32("gemma3.rope.freq_base_swa", 500.0F);
  said.text("gemma3.rope.scaling.type", "linear").f32("gemma3.rope.scaling.factor", 8.0F);
  const Spec spec = read(said).spec;
  CHECK(spec.attention.window == SlidingWindow{.length = 4, .full_every = 2, .rope = Rope{.theta = 500}});
  CHECK(spec.position == Position(Rope{.theta = 1e6, .scaling = LinearScaling{8}}));
  said.array<std::uint8_t>("gemma3.attention.sliding_window_pattern", 7, {1, 0});
  CHECK(read(said).spec.attention.window->full_every == 2);
  said.array<std::uint8_t>("gemma3.attention.sliding_window_pattern", 7, {1, 1});
  CHECK(read(said).spec.attention.window->full_every == 6);  // the family's, which two layers cannot show
  said.array<std::uint8_t>("gemma3.attention.sliding_window_pattern", 7, {0, 1});
  CHECK_THAT(refusal(said), Contains("no pattern in which every n-th layer"));
  said.array<std::uint8_t>("gemma3.attention.sliding_window_pattern", 7, {0, 0});
  CHECK_FALSE(read(said).spec.attention.window);
  said.array<std::uint8_t>("gemma3.attention.sliding_window_pattern", 7, {1});
  CHECK_THAT(refusal(said), Contains("has 1 elements, the model has 2 layers"));
}

TEST_CASE("gemma2: soft caps, every second layer sees all") {
  GgufBuilder builder = tiny_gemma("gemma2");
  builder.f32("gemma2.attn_logit_softcapping", 50.0F).f32("gemma2.final_logit_softcapping", 30.0F);
  const Spec spec = read(builder).spec;
  CHECK(spec.attention.soft_cap == 50.0);
  CHECK(spec.logit_soft_cap == 30.0);
  CHECK(spec.attention.window == SlidingWindow{.length = 4, .full_every = 2});
  CHECK_FALSE(spec.attention.qk_norm);
  CHECK(spec.norm_placement == NormPlacement::before_and_after);

  GgufBuilder silent = tiny_gemma("gemma2");
  CHECK(read(silent).spec == spec);  // llama.cpp's defaults
  silent.f32("gemma2.attn_logit_softcapping", 0.0F).f32("gemma2.final_logit_softcapping", 0.0F);
  CHECK_FALSE(read(silent).spec.attention.soft_cap);
  CHECK_FALSE(read(silent).spec.logit_soft_cap);
  silent.f32("gemma2.final_logit_softcapping", -1.0F);
  CHECK_THAT(refusal(silent), Contains("'gemma2.final_logit_softcapping' is -1; a soft cap is positive"));
}

TEST_CASE("stablelm: the norm of the MLP says whether the residual is parallel, not the key") {
  // llama.cpp's converter writes the key as true where config.json lacks it (conversion/stablelm.py); its graph looks at the tensor
  // (src/models/stablelm.cpp); transformers has no such norm in a parallel layer (modeling_stablelm.py).
  GgufBuilder builder = tiny_stablelm();
  for (const bool key : {true, false}) {
    builder.flag("stablelm.use_parallel_residual", key);
    CHECK(read(builder).spec.residual == Residual::sequential);
  }
  builder.flag("stablelm.use_parallel_residual", true);
  for (const std::string block : {"blk.0.", "blk.1."}) builder.remove_tensor(block + "ffn_norm.weight").remove_tensor(block + "ffn_norm.bias");
  CHECK(read(builder).spec.residual == Residual::parallel_shared_norm);
  builder.flag("stablelm.use_parallel_residual", false);
  CHECK_THAT(refusal(builder), Contains("the tensor 'blk.0.ffn_norm.weight' is missing"));
}

TEST_CASE("starcoder2 and llama: a window that the file does not state is none") {
  // llama.cpp's converter writes no window for them (conversion/base.py) and its graph has none (src/models/starcoder2.cpp).
  CHECK_FALSE(read(tiny_llama()).spec.attention.window);
  GgufBuilder builder = tiny_plain("starcoder2");
  CHECK_FALSE(read(builder).spec.attention.window);
  CHECK(std::get<PlainMlp>(read(builder).spec.mlp).activation == Activation::gelu_tanh);  // Starcoder2Config's hidden_act
  builder.u32("starcoder2.attention.sliding_window", 8);
  CHECK(read(builder).spec.attention.window == SlidingWindow{.length = 8});
}

TEST_CASE("gpt-neox: the exact GELU of its config.json, and the approximation of GPT-NeoX-20B") {
  // EleutherAI's config.json: Pythia has hidden_act "gelu", gpt-neox-20b "gelu_fast"; llama.cpp's converter (conversion/gpt_neox.py) writes neither.
  GgufBuilder builder = tiny_plain("gptneox");
  builder.flag("gptneox.use_parallel_residual", true);
  CHECK(std::get<PlainMlp>(read(builder).spec.mlp).activation == Activation::gelu);
  CHECK(read(builder).spec.residual == Residual::parallel);
  builder.flag("gptneox.use_parallel_residual", false);
  CHECK(read(builder).spec.residual == Residual::sequential);

  GgufBuilder large = tiny_plain("gptneox", 44);
  const auto activation = [&](std::uint32_t hidden) {
    large.u32("gptneox.embedding_length", hidden);
    const Gguf file = large.open();
    GgufTensors tensors(file);
    return std::get<PlainMlp>(read_gguf_spec(file, tensors).mlp).activation;
  };
  CHECK(activation(6144) == Activation::gelu_tanh);
  CHECK(activation(6138) == Activation::gelu);
}

TEST_CASE("RoPE scaling: linear, llama3 from its divisors, others refused by name") {
  GgufBuilder builder = tiny_llama();
  builder.text("llama.rope.scaling.type", "linear").f32("llama.rope.scaling.factor", 4.0F);
  CHECK(read(builder).spec.position == Position(Rope{.theta = 10000, .scaling = LinearScaling{4}}));
  builder.text("llama.rope.scaling.type", "none");
  CHECK(read(builder).spec.position == Position(Rope{.theta = 10000}));
  builder.text("llama.rope.scaling.type", "yarn").u32("llama.rope.scaling.original_context_length", 8);
  CHECK(read(builder).spec.position == Position(Rope{.theta = 10000, .scaling = YarnScaling{.factor = 4, .original_context = 8}}));
  builder.f32("llama.rope.scaling.yarn_beta_fast", 16.0F).f32("llama.rope.scaling.yarn_beta_slow", 2.0F);
  CHECK(read(builder).spec.position == Position(Rope{.theta = 10000, .scaling = YarnScaling{4, 8, 16, 2}}));
  builder.f32("llama.rope.scaling.attn_factor", 1.0F);
  CHECK(refusal(builder) == "");
  builder.f32("llama.rope.scaling.attn_factor", 1.2F);
  CHECK_THAT(refusal(builder), Contains("'llama.rope.scaling.attn_factor' is 1.2; only 1 is supported"));
  builder.remove_key("llama.rope.scaling.attn_factor");
  // yarn_attn_factor is config.json's attention_factor (conversion/base.py); llama-context.cpp does not use it here. 0.1 ln 4 + 1 = 1.138629.
  builder.f32("llama.rope.scaling.yarn_attn_factor", 1.1386294F).f32("llama.rope.scaling.yarn_log_multiplier", 0.0F).f32("llama.rope.scaling.yarn_ext_factor", 1.0F);
  CHECK(read(builder).spec.position == Position(Rope{.theta = 10000, .scaling = YarnScaling{4, 8, 16, 2}}));
  for (const float wrong : {1.0F, 1.5F}) {
    builder.f32("llama.rope.scaling.yarn_attn_factor", wrong);
    CHECK_THAT(refusal(builder), Contains("'llama.rope.scaling.yarn_attn_factor' is " + text_of(static_cast<double>(wrong)) + "; only what YaRN's formula gives"));
  }
  builder.remove_key("llama.rope.scaling.yarn_attn_factor").f32("llama.rope.scaling.yarn_log_multiplier", 1.0F);
  CHECK_THAT(refusal(builder), Contains("'llama.rope.scaling.yarn_log_multiplier' is 1"));
  builder.remove_key("llama.rope.scaling.yarn_log_multiplier");
  builder.text("llama.rope.scaling.type", "longrope");
  CHECK_THAT(refusal(builder), Contains("the RoPE scaling 'longrope' is not supported"));
}

TEST_CASE("R2: llama3 scaling is found again from the divisors in rope_freqs.weight") {
  // cases.md, R2: head size 64, base 5e5, factor 32, low 1, high 4, old context 8192: the frequencies of the blended pairs, by an independent program.
  std::vector<float> divisors(32, 1.0F);
  const double frequencies[] = {1.290547928e-3, 4.295567966e-4, 9.708287803e-5};
  for (std::size_t i = 15; i < 18; ++i) divisors[i] = static_cast<float>(std::pow(5e5, -static_cast<double>(i) / 32) / frequencies[i - 15]);
  for (std::size_t i = 18; i < 32; ++i) divisors[i] = 32.0F;
  GgufBuilder builder = tiny_llama();
  builder.u32("llama.attention.key_length", 64).u32("llama.attention.value_length", 64).u32("llama.rope.dimension_count", 64);
  builder.f32("llama.rope.freq_base", 5e5F).tensor("rope_freqs.weight", {32}, divisors);
  for (const std::string block : {"blk.0.", "blk.1."}) {
    builder.some_tensor(block + "attn_q.weight", {12, 128}).some_tensor(block + "attn_k.weight", {12, 64});
    builder.some_tensor(block + "attn_v.weight", {12, 64}).some_tensor(block + "attn_output.weight", {128, 12});
  }
  const Llama3Scaling expected{.factor = 32, .low_freq_factor = 1, .high_freq_factor = 4, .original_context = 8192};
  CHECK(read(builder).spec.position == Position(Rope{.theta = 5e5, .scaling = expected}));
  builder.tensor("rope_freqs.weight", {32}, std::vector<float>(32, 1.0F));
  CHECK(read(builder).spec.position == Position(Rope{.theta = 5e5}));
  divisors[16] *= 1.01F;
  builder.tensor("rope_freqs.weight", {32}, divisors);
  CHECK_THAT(refusal(builder), Contains("'rope_freqs.weight' are none of Llama 3's scaling"));
  divisors[31] = std::numeric_limits<float>::quiet_NaN();
  builder.tensor("rope_freqs.weight", {32}, divisors);
  CHECK_THAT(refusal(builder), Contains("'rope_freqs.weight'"));
  builder.tensor("rope_freqs.weight", {31}, std::vector<float>(31, 1.0F));
  CHECK_THAT(refusal(builder), Contains("'rope_freqs.weight' has the shape [31], the model needs [32]"));
}

TEST_CASE("F8: the head is tied when there is none of its own, or one with the embedding's values") {
  CHECK(read(tiny_llama()).spec.head == Head(TiedHead{}));

  GgufBuilder untied = tiny_llama();
  untied.some_tensor("output.weight", {12, 16});
  const Model own = read(untied);
  CHECK(own.spec.head == Head(UntiedHead{}));
  CHECK(own.weights.head->name == "output.weight");

  GgufBuilder same = tiny_llama();
  std::vector<float> numbers;
  Bytes halves;  // of the same numbers: multiples of 1/4 up to 47.75, which a bfloat holds
  for (int i = 0; i < 192; ++i) {
    numbers.push_back(static_cast<float>(i) / 4);
    append(halves, static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(numbers.back()) >> 16));
  }
  same.tensor("token_embd.weight", {12, 16}, numbers).tensor("output.weight", {12, 16}, numbers);
  CHECK(read(same).spec.head == Head(TiedHead{}));
  CHECK_FALSE(read(same).weights.head);
  same.tensor("output.weight", Format::bf16, {12, 16}, halves);
  CHECK(read(same).spec.head == Head(TiedHead{}));
  halves[100 * 2 + 1] ^= std::byte{0x80};
  same.tensor("output.weight", Format::bf16, {12, 16}, halves);
  CHECK(read(same).spec.head == Head(UntiedHead{}));

  GgufBuilder biased = tiny_llama();
  biased.some_tensor("output.bias", {16});
  CHECK(read(biased).spec.head == Head(TiedHead{.bias = true}));
  CHECK(read(biased).weights.head_bias->cols == 16);
  biased.some_tensor("output.weight", {12, 16});
  CHECK(read(biased).spec.head == Head(UntiedHead{.bias = true}));

  GgufBuilder wrong = tiny_llama();
  wrong.some_tensor("output.weight", {12, 15});
  CHECK_THAT(refusal(wrong), Contains("'output.weight' has the shape [12, 15], the model needs [12, 16]"));
  GgufBuilder none = tiny_llama();
  none.remove_tensor("token_embd.weight");
  CHECK_THAT(refusal(none), Contains("the tensor 'token_embd.weight' is missing"));
}

TEST_CASE("the real SmolLM2, when it has been fetched") {
  std::filesystem::path cache;
  if (const char* folder = std::getenv("DIECAST_CACHE")) cache = folder;
  else if (const char* home = std::getenv("HOME")) cache = std::filesystem::path(home) / ".cache/diecast";
  std::filesystem::path found;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator entry(cache, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename() == "SmolLM2-135M-Instruct.Q4_1.gguf") found = entry->path();
  }
  if (found.empty()) {
    WARN("SmolLM2-135M-Instruct.Q4_1.gguf is not in the cache folder: skipped");
    return;
  }
  const Model model = read_gguf(found.string());
  CHECK(model.spec == Spec{.hidden = 576, .layers = 30, .vocab = 49152, .context = 8192,
                           .attention = {.heads = 9, .kv_heads = 3, .head_dim = 64},
                           .position = Rope{.theta = 100'000}, .norm = RmsNorm{.epsilon = 1e-5},
                           .mlp = GatedMlp{.width = 1536, .activation = Activation::silu}, .head = TiedHead{}});
  CHECK(model.generation.eos == std::vector<int>{2});
  CHECK(model.tokenizer.pieces.size() == 49152);
  CHECK(model.tokenizer.merges.size() == 48900);
  CHECK(model.tokenizer.pre_tokenizer == "smollm");
  CHECK(model.tokenizer.added.size() == 17);
  CHECK(model.tokenizer.add_bos == false);
  CHECK(model.chat_template->starts_with("{% for message in messages %}"));
  CHECK(model.weights.embedding.format == Format::q8_0);
  CHECK(model.weights.layers[29].q.weight.format == Format::q4_1);
}
