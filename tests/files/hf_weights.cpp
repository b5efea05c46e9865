// Tensors of a folder -> canonical weights: orientation, splitting, 1 + w, the rules of the head, and what is refused.
// Right values by hand: every stored number says which tensor and which element it is.
#include <diecast/files/hf_weights.hpp>

#include <catch2/catch.hpp>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "files/hf_support.hpp"

using namespace diecast;
using namespace diecast::testing;
using Catch::Matchers::Contains;

namespace {

// Element e of the n-th tensor is 1000 n + e.
class Numbered {
 public:
  void add(const std::string& name, const std::vector<std::uint64_t>& shape) {
    std::uint64_t size = 1;
    for (const auto extent : shape) size *= extent;
    std::vector<float> values(size);
    for (std::size_t e = 0; e < size; ++e) values[e] = static_cast<float>(1000 * tensors.size() + e);
    tensors.push_back(stored(name, shape, values));
  }
  std::size_t number(const std::string& name) const {
    return static_cast<std::size_t>(std::find_if(tensors.begin(), tensors.end(), [&](const Stored& one) { return one.name == name; }) -
                                    tensors.begin());
  }
  Stored& at(const std::string& name) { return tensors.at(number(name)); }
  void erase(const std::string& name) { tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(number(name))); }
  std::vector<Stored> tensors;
};

Weights weights_of(const std::vector<Stored>& tensors, const Spec& spec, const std::string& type) {
  const auto text = std::make_shared<const std::string>(safetensors_text(tensors));
  return hf_weights(parse_safetensors(std::as_bytes(std::span<const char>(*text)), text, "x"), spec, type, "folder");
}
std::string refused(const std::vector<Stored>& tensors, const Spec& spec, const std::string& type) {
  return sentence([&] { weights_of(tensors, spec, type); });
}

const Spec gpt2{.hidden = 4,
                .layers = 2,
                .vocab = 7,
                .context = 5,
                .attention = {.heads = 2, .kv_heads = 2, .head_dim = 2, .qkv_bias = true, .output_bias = true},
                .position = Absolute{.positions = 5},
                .norm = LayerNorm{.epsilon = 1e-5},
                .mlp = PlainMlp{.width = 6, .activation = Activation::gelu_tanh, .bias = true},
                .head = TiedHead{}};

Numbered gpt2_file(const std::string& prefix = "transformer.") {
  Numbered file;
  file.add(prefix + "wte.weight", {7, 4});
  file.add(prefix + "wpe.weight", {5, 4});
  for (const std::string layer : {"h.0.", "h.1."}) {
    for (const char* norm : {"ln_1", "ln_2"}) {
      file.add(prefix + layer + norm + ".weight", {4});
      file.add(prefix + layer + norm + ".bias", {4});
    }
    file.add(prefix + layer + "attn.c_attn.weight", {4, 12});
    file.add(prefix + layer + "attn.c_attn.bias", {12});
    file.add(prefix + layer + "attn.c_proj.weight", {4, 4});
    file.add(prefix + layer + "attn.c_proj.bias", {4});
    file.add(prefix + layer + "mlp.c_fc.weight", {4, 6});
    file.add(prefix + layer + "mlp.c_fc.bias", {6});
    file.add(prefix + layer + "mlp.c_proj.weight", {6, 4});
    file.add(prefix + layer + "mlp.c_proj.bias", {4});
  }
  file.add(prefix + "ln_f.weight", {4});
  file.add(prefix + "ln_f.bias", {4});
  return file;
}

const Spec llama{.hidden = 6,
                 .layers = 2,
                 .vocab = 5,
                 .context = 8,
                 .attention = {.heads = 3, .kv_heads = 1, .head_dim = 4},
                 .position = Rope{.theta = 1e4},
                 .norm = RmsNorm{.epsilon = 1e-5},
                 .mlp = GatedMlp{.width = 7, .activation = Activation::silu},
                 .head = TiedHead{}};

Numbered llama_file(const Spec& spec, const std::string& prefix = "model.") {
  const auto n = [](int value) { return static_cast<std::uint64_t>(value); };
  const std::uint64_t hidden = n(spec.hidden), q = n(spec.attention.heads * spec.attention.head_dim),
                      kv = n(spec.attention.kv_heads * spec.attention.head_dim);
  const std::uint64_t width = n(std::get<GatedMlp>(spec.mlp).width);
  Numbered file;
  file.add(prefix + "embed_tokens.weight", {n(spec.vocab), hidden});
  for (int i = 0; i < spec.layers; ++i) {
    const std::string in = prefix + "layers." + std::to_string(i) + ".";
    file.add(in + "input_layernorm.weight", {hidden});
    for (const auto& [name, rows] : {std::pair{"q", q}, {"k", kv}, {"v", kv}}) {
      file.add(in + "self_attn." + name + "_proj.weight", {rows, hidden});
      if (spec.attention.qkv_bias) file.add(in + "self_attn." + name + "_proj.bias", {rows});
    }
    file.add(in + "self_attn.o_proj.weight", {hidden, q});
    if (spec.attention.output_bias) file.add(in + "self_attn.o_proj.bias", {hidden});
    if (spec.attention.qk_norm) {
      file.add(in + "self_attn.q_norm.weight", {n(spec.attention.head_dim)});
      file.add(in + "self_attn.k_norm.weight", {n(spec.attention.head_dim)});
    }
    file.add(in + "post_attention_layernorm.weight", {hidden});
    if (spec.norm_placement != NormPlacement::before) {
      file.add(in + "pre_feedforward_layernorm.weight", {hidden});
      file.add(in + "post_feedforward_layernorm.weight", {hidden});
    }
    const bool bias = std::get<GatedMlp>(spec.mlp).bias;
    for (const std::string name : {"gate", "up"}) {
      file.add(in + "mlp." + name + "_proj.weight", {width, hidden});
      if (bias) file.add(in + "mlp." + name + "_proj.bias", {width});
    }
    file.add(in + "mlp.down_proj.weight", {hidden, width});
    if (bias) file.add(in + "mlp.down_proj.bias", {hidden});
  }
  file.add(prefix + "norm.weight", {hidden});
  return file;
}

std::vector<float> values(const Tensor& tensor) {
  REQUIRE(tensor.format == Format::f32);
  REQUIRE(tensor.bytes.size() == static_cast<std::size_t>(tensor.rows * tensor.cols) * 4);
  return floats_of(tensor.bytes);
}
// The n-th tensor of a file, whole.
std::vector<float> counted(std::size_t n, std::size_t size) {
  std::vector<float> all(size);
  for (std::size_t e = 0; e < size; ++e) all[e] = static_cast<float>(1000 * n + e);
  return all;
}

}  // namespace

TEST_CASE("weights: GPT-2's matrices become [out, in], and c_attn three") {
  for (const std::string prefix : {"transformer.", ""}) {
    const Numbered file = gpt2_file(prefix);
    const Weights weights = weights_of(file.tensors, gpt2, "gpt2");
    REQUIRE(weights.layers.size() == 2);
    const LayerWeights& layer = weights.layers[1];
    const std::size_t c_attn = file.number(prefix + "h.1.attn.c_attn.weight");
    // Row r of Q is column r of c_attn, K starts at column 4, V at column 8; a row of c_attn is 12 long.
    int first = 0;
    for (const LinearWeights* one : {&layer.q, &layer.k, &layer.v}) {
      CHECK(one->weight.rows == 4);
      CHECK(one->weight.cols == 4);
      const auto got = values(one->weight);
      for (int row = 0; row < 4; ++row)
        for (int col = 0; col < 4; ++col)
          CHECK(got[static_cast<std::size_t>(4 * row + col)] ==
                static_cast<float>(1000 * static_cast<int>(c_attn) + 12 * col + first + row));
      const auto bias = values(*one->bias);
      REQUIRE(bias.size() == 4);
      CHECK(bias[3] == static_cast<float>(1000 * (static_cast<int>(c_attn) + 1) + first + 3));
      first += 4;
    }
    const auto number = [&](const std::string& name) { return static_cast<float>(1000 * file.number(prefix + name)); };
    CHECK(layer.up.weight.rows == 6);
    CHECK(layer.up.weight.cols == 4);
    CHECK(values(layer.up.weight)[1] == number("h.1.mlp.c_fc.weight") + 6);  // [0][1] is stored at [1][0]
    CHECK(layer.down.weight.rows == 4);
    CHECK(layer.down.weight.cols == 6);
    CHECK(values(layer.down.weight)[6] == number("h.1.mlp.c_proj.weight") + 1);  // [1][0] is stored at [0][1]
    CHECK(values(layer.output.weight)[1] == number("h.1.attn.c_proj.weight") + 4);
    CHECK(values(*layer.mlp_norm->bias) == counted(file.number(prefix + "h.1.ln_2.bias"), 4));
    CHECK(values(layer.attention_norm->weight) == counted(file.number(prefix + "h.1.ln_1.weight"), 4));
    CHECK(values(*weights.position) == counted(1, 20));
    CHECK(values(weights.embedding) == counted(0, 28));
    CHECK(weights.embedding.name == prefix + "wte.weight");
    CHECK_FALSE(weights.head.has_value());
    CHECK_FALSE(layer.gate.has_value());
  }
}

TEST_CASE("weights: transposing larger than a tile, in two bytes a value") {
  const std::int64_t rows = 67, cols = 45;
  std::vector<std::uint16_t> all(static_cast<std::size_t>(rows * cols));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  const Tensor turned =
      hf_detail::transposed({.name = "t", .format = Format::f16, .rows = rows, .cols = cols, .bytes = std::as_bytes(std::span(all))});
  CHECK(turned.rows == cols);
  CHECK(turned.cols == rows);
  bool right = true;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t col = 0; col < cols; ++col) {
      std::uint16_t value;
      std::memcpy(&value, turned.bytes.data() + 2 * (col * rows + row), 2);
      right = right && value == row * cols + col;
    }
  CHECK(right);
}

TEST_CASE("weights: names of llama, with and without prefix; nothing is copied") {
  for (const std::string prefix : {"model.", "", "language_model.model.", "model.language_model."}) {
    INFO(prefix);
    Numbered file = llama_file(llama, prefix);
    file.add(prefix + "layers.0.self_attn.rotary_emb.inv_freq", {2});  // harmless
    const Weights weights = weights_of(file.tensors, llama, "llama");
    REQUIRE(weights.layers.size() == 2);
    const LayerWeights& layer = weights.layers[1];
    const auto is = [&](const Tensor& tensor, const std::string& name, std::int64_t rows, std::int64_t cols) {
      CHECK(tensor.rows == rows);
      CHECK(tensor.cols == cols);
      CHECK(values(tensor) == counted(file.number(prefix + "layers.1." + name), static_cast<std::size_t>(rows * cols)));
    };
    is(layer.attention_norm->weight, "input_layernorm.weight", 1, 6);
    is(layer.q.weight, "self_attn.q_proj.weight", 12, 6);
    is(layer.k.weight, "self_attn.k_proj.weight", 4, 6);
    is(layer.v.weight, "self_attn.v_proj.weight", 4, 6);
    is(layer.output.weight, "self_attn.o_proj.weight", 6, 12);
    is(layer.mlp_norm->weight, "post_attention_layernorm.weight", 1, 6);
    is(layer.gate->weight, "mlp.gate_proj.weight", 7, 6);
    is(layer.up.weight, "mlp.up_proj.weight", 7, 6);
    is(layer.down.weight, "mlp.down_proj.weight", 6, 7);
    CHECK_FALSE(layer.q.bias.has_value());
    CHECK_FALSE(weights.position.has_value());
    CHECK(weights.embedding.owner == layer.down.weight.owner);
  }
}

TEST_CASE("weights: biases of qwen2 and of a llama that has all of them") {
  Spec spec = llama;
  spec.attention.qkv_bias = true;
  const Numbered qwen2 = llama_file(spec);
  const Weights weights = weights_of(qwen2.tensors, spec, "qwen2");
  CHECK(values(*weights.layers[0].k.bias) == counted(qwen2.number("model.layers.0.self_attn.k_proj.bias"), 4));
  CHECK_FALSE(weights.layers[0].output.bias.has_value());
  CHECK_THAT(refused(qwen2.tensors, llama, "llama"), Contains("k_proj.bias\" is unknown"));
  spec.attention.output_bias = true;
  std::get<GatedMlp>(spec.mlp).bias = true;
  const Numbered all = llama_file(spec);
  const Weights biased = weights_of(all.tensors, spec, "llama");
  CHECK(values(*biased.layers[1].output.bias) == counted(all.number("model.layers.1.self_attn.o_proj.bias"), 6));
  CHECK(values(*biased.layers[1].gate->bias) == counted(all.number("model.layers.1.mlp.gate_proj.bias"), 7));
  CHECK(values(*biased.layers[1].down.bias) == counted(all.number("model.layers.1.mlp.down_proj.bias"), 6));
  CHECK_THAT(refused(qwen2.tensors, spec, "llama"), Contains("o_proj.bias\" is missing"));
}

TEST_CASE("weights: Gemma's norms are stored as w of 1 + w") {
  Spec spec = llama;
  spec.attention.qk_norm = QkNorm::each_head;
  spec.norm_placement = NormPlacement::before_and_after;
  Numbered file = llama_file(spec);
  file.at("model.norm.weight") = {"model.norm.weight", "BF16", {6}, std::string("\x80\x3f\x00\xbf\x00\x3b\x00\x00\x00\x80\x80\xbf", 12)};
  file.at("model.layers.0.self_attn.q_norm.weight") = {
      "model.layers.0.self_attn.q_norm.weight", "F16", {4}, std::string("\x00\x3c\x01\x00\x00\x80\xff\x7b", 8)};
  const Weights weights = weights_of(file.tensors, spec, "gemma3_text");
  // bf16: 1, -0.5, 2^-9, 0, -0, -1.
  CHECK(values(weights.final_norm.weight) == std::vector<float>{2, 0.5f, 1.001953125f, 1, 1, 0});
  // half: 1, 2^-24 (the smallest), -0, 65504 (the largest); 1 + 2^-24 rounds to 1 in float.
  CHECK(values(*weights.layers[0].q_norm) == std::vector<float>{2, 1, 1, 65505});
  const LayerWeights& layer = weights.layers[1];
  const auto plus_one = [&](const std::string& name, std::size_t size) {
    auto all = counted(file.number("model.layers.1." + name), size);
    for (float& value : all) value += 1;
    return all;
  };
  CHECK(values(layer.attention_norm->weight) == plus_one("input_layernorm.weight", 6));
  CHECK(values(layer.after_attention->weight) == plus_one("post_attention_layernorm.weight", 6));
  CHECK(values(layer.mlp_norm->weight) == plus_one("pre_feedforward_layernorm.weight", 6));
  CHECK(values(layer.after_mlp->weight) == plus_one("post_feedforward_layernorm.weight", 6));
  CHECK(values(*layer.k_norm) == plus_one("self_attn.k_norm.weight", 4));
  CHECK(values(layer.q.weight) == counted(file.number("model.layers.1.self_attn.q_proj.weight"), 72));
}

TEST_CASE("F8: tied or not, with or without a head of its own") {
  Spec tied = llama;
  Spec untied = llama;
  untied.head = UntiedHead{};
  const Numbered without = llama_file(llama);
  Numbered other = without;
  other.add("lm_head.weight", {5, 6});
  Numbered same = without;
  same.tensors.push_back({"lm_head.weight", "F32", {5, 6}, same.at("model.embed_tokens.weight").bytes});

  CHECK_FALSE(weights_of(without.tensors, tied, "llama").head.has_value());
  CHECK_FALSE(weights_of(same.tensors, tied, "llama").head.has_value());
  CHECK_THAT(refused(other.tensors, tied, "llama"),
             Contains("\"lm_head.weight\" and \"model.embed_tokens.weight\" differ") && Contains("tie_word_embeddings true"));
  const Weights own = weights_of(other.tensors, untied, "llama");
  CHECK(values(*own.head) == counted(other.number("lm_head.weight"), 30));
  CHECK(values(*weights_of(same.tensors, untied, "llama").head) == values(own.embedding));
  CHECK_THAT(refused(without.tensors, untied, "llama"), Contains("\"lm_head.weight\" is missing") && Contains("tie_word_embeddings false"));
}

TEST_CASE("F8: a stored head in another format is compared by value") {
  Spec spec = llama;
  spec.vocab = 1;
  Numbered file = llama_file(spec);
  file.at("model.embed_tokens.weight") = stored("model.embed_tokens.weight", {1, 6}, {1, -0.5f, 0.001953125f, 0, 0, -1});
  Stored head{"lm_head.weight", "BF16", {1, 6}, std::string("\x80\x3f\x00\xbf\x00\x3b\x00\x00\x00\x80\x80\xbf", 12)};
  file.tensors.push_back(head);
  CHECK(refused(file.tensors, spec, "llama").empty());
  file.at("lm_head.weight").bytes[0] = '\x81';
  CHECK_THAT(refused(file.tensors, spec, "llama"), Contains("differ"));
  file.at("lm_head.weight").bytes.replace(0, 2, "\xc0\x7f");  // NaN equals nothing
  CHECK_THAT(refused(file.tensors, spec, "llama"), Contains("differ"));
}

TEST_CASE("weights: wrong shapes, missing and unknown tensors, other dtypes are named") {
  Numbered file = llama_file(llama);
  file.at("model.layers.1.mlp.up_proj.weight") = stored("model.layers.1.mlp.up_proj.weight", {6, 7}, std::vector<float>(42));
  CHECK_THAT(refused(file.tensors, llama, "llama"),
             Contains("\"model.layers.1.mlp.up_proj.weight\" has the shape [6, 7], and config.json asks for [7, 6]"));
  file = llama_file(llama);
  file.at("model.norm.weight") = stored("model.norm.weight", {1, 6}, std::vector<float>(6));
  CHECK_THAT(refused(file.tensors, llama, "llama"), Contains("has the shape [1, 6], and config.json asks for [6]"));
  file = llama_file(llama);
  file.erase("model.layers.1.self_attn.k_proj.weight");
  CHECK_THAT(refused(file.tensors, llama, "llama"), Contains("layers.1.self_attn.k_proj.weight\" is missing"));
  file = llama_file(llama);
  file.add("model.layers.0.mlp.experts.0.w1.weight", {2});
  CHECK_THAT(refused(file.tensors, llama, "llama"), Contains("experts.0.w1.weight\" is unknown"));
  file = llama_file(llama);
  file.at("model.norm.weight") = {"model.norm.weight", "F64", {6}, std::string(48, '\0')};
  CHECK_THAT(refused(file.tensors, llama, "llama"),
             Contains("\"model.norm.weight\" has the dtype F64, and weights must be F32, F16 or BF16"));
  file = llama_file(llama);
  file.add("norm.weight", {6});
  CHECK_THAT(refused(file.tensors, llama, "llama"), Contains("\"model.norm.weight\" and \"norm.weight\" are the same part") ||
                                                        Contains("\"norm.weight\" and \"model.norm.weight\" are the same part"));
  Spec deep = llama;
  deep.layers = 4096;
  CHECK_THAT(refused(llama_file(llama).tensors, deep, "llama"), Contains("layers.2.input_layernorm.weight\" is missing"));
  Spec shallow = llama;
  shallow.layers = 1;
  CHECK_THAT(refused(llama_file(llama).tensors, shallow, "llama"), Contains("model.layers.1.") && Contains("is unknown"));

  Numbered masks = gpt2_file();
  masks.add("transformer.h.0.attn.bias", {1, 1, 5, 5});
  masks.add("transformer.h.1.attn.masked_bias", {});
  CHECK(refused(masks.tensors, gpt2, "gpt2").empty());
  masks.add("transformer.h.x.attn.bias", {1});
  CHECK_THAT(refused(masks.tensors, gpt2, "gpt2"), Contains("h.x.attn.bias\" is unknown"));
  masks = gpt2_file();
  masks.add("transformer.h.0.attn.rotary", {1});
  CHECK_THAT(refused(masks.tensors, gpt2, "gpt2"), Contains("is unknown"));
}

TEST_CASE("weights: unaligned bytes are read as well as aligned ones") {
  // One space of padding in the header moves the data by a byte.
  for (std::size_t shift = 0; shift < 4; ++shift) {
    Numbered file = llama_file(llama);
    Spec spec = llama;
    spec.attention.qk_norm = QkNorm::each_head;
    spec.norm_placement = NormPlacement::before_and_after;
    file = llama_file(spec);
    const std::string text = safetensors_text(file.tensors);
    std::uint64_t header = 0;
    std::memcpy(&header, text.data(), 8);
    const auto moved = std::make_shared<const std::string>(little_endian(header + shift) + text.substr(8, header) +
                                                           std::string(shift, ' ') + text.substr(8 + header));
    const Weights weights =
        hf_weights(parse_safetensors(std::as_bytes(std::span<const char>(*moved)), moved, "x"), spec, "gemma2", "folder");
    CHECK(values(weights.final_norm.weight)[5] == static_cast<float>(1000 * file.number("model.norm.weight") + 6));
  }
}
