// The spec that a GGUF file's keys describe, for the architectures in `gguf_families`.
// A key of the architecture that we do not know may change the arithmetic, so it is refused by name rather than passed over.
// Source: the GGUF format text; llama.cpp (llama-model.cpp) for what an absent key means.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <diecast/files/gguf.hpp>
#include <diecast/files/gguf_rope.hpp>
#include <diecast/files/gguf_tensors.hpp>
#include <diecast/spec/spec.hpp>
#include <diecast/text.hpp>

namespace diecast {
namespace gguf_detail {

// What a file's architecture says by its name alone.
struct GgufFamily {
  std::string_view name;
  bool layer_norm = false;
  bool plain_mlp = false;
  Activation activation = Activation::silu;
  std::optional<QkNorm> qk_norm{};
  NormPlacement norm_placement = NormPlacement::before;
  bool scaled_embedding = false;  // by the square root of the hidden size
  bool neighbouring_pairs = false;  // the rows of Q and K are stored for RoPE that turns neighbours
};
// GPT-NeoX's GELU: files do not say it. llama.cpp always takes the approximation; the published models (Pythia and its kin) say "gelu" in their
// config.json, the exact one, and transformers follows that. GPT-NeoX-20B alone says "gelu_fast", the approximation: known by its size.
inline constexpr std::array<GgufFamily, 13> gguf_families{{
    {.name = "llama", .neighbouring_pairs = true},
    {.name = "qwen2"},
    {.name = "qwen3", .qk_norm = QkNorm::each_head},
    {.name = "gpt2", .layer_norm = true, .plain_mlp = true, .activation = Activation::gelu_tanh},
    {.name = "gptneox", .layer_norm = true, .plain_mlp = true, .activation = Activation::gelu},
    {.name = "gemma", .activation = Activation::gelu_tanh, .scaled_embedding = true},
    {.name = "gemma2", .activation = Activation::gelu_tanh, .norm_placement = NormPlacement::before_and_after, .scaled_embedding = true},
    {.name = "gemma3",
     .activation = Activation::gelu_tanh,
     .qk_norm = QkNorm::each_head,
     .norm_placement = NormPlacement::before_and_after,
     .scaled_embedding = true},
    {.name = "granite", .neighbouring_pairs = true},
    {.name = "phi3"},
    {.name = "stablelm", .layer_norm = true},
    {.name = "olmo2", .qk_norm = QkNorm::all_heads, .norm_placement = NormPlacement::after},
    {.name = "starcoder2", .layer_norm = true, .plain_mlp = true, .activation = Activation::gelu_tanh},
}};
inline const GgufFamily* find_family(std::string_view name) {
  const auto* const found = std::ranges::find(gguf_families, name, &GgufFamily::name);
  return found == gguf_families.end() ? nullptr : found;
}

// The keys of one architecture: "llama.block_count" by its last part, each remembered when it is asked for.
class ArchitectureKeys {
 public:
  ArchitectureKeys(const Gguf& file, std::string architecture) : file_(file), prefix_(std::move(architecture) + ".") {}

  std::string name(std::string_view key) {
    auto full = prefix_ + std::string(key);
    known_.insert(full);
    return full;
  }
  std::optional<int> optional_whole(std::string_view key, int low = 1) {
    const auto value = file_.integer(name(key), low, INT32_MAX);
    return value ? std::optional<int>(static_cast<int>(*value)) : std::nullopt;
  }
  int whole(std::string_view key) {
    const auto value = optional_whole(key);
    if (!value) file_.fail("the key '" + name(key) + "' is missing");
    return *value;
  }
  // A number for each layer that must be the same for all: a plain value, or an array of equal ones.
  std::optional<int> same_for_all_layers(std::string_view key) {
    const auto full = name(key);
    const GgufValue* value = file_.find(full);
    if (!value || value->type != GgufType::array) return optional_whole(key);
    if (size_of(value->element) == 0 || value->count == 0) file_.array(full, GgufType::i32);
    const auto first = value->integer_element(0);
    for (std::uint64_t i = 0; i < value->count; ++i) {
      const auto here = value->integer_element(i);
      if (!here || *here < 1 || *here > INT32_MAX) file_.fail("the key '" + full + "' holds no positive whole number for layer " + std::to_string(i));
      if (here != first) {
        file_.fail("the key '" + full + "' is " + std::to_string(*first) + " for layer 0 and " + std::to_string(*here) + " for layer " + std::to_string(i) +
                   "; models whose layers differ are not supported");
      }
    }
    return static_cast<int>(*first);
  }
  std::optional<double> optional_number(std::string_view key) { return file_.number(name(key)); }
  std::optional<double> positive(std::string_view key) {
    const auto value = optional_number(key);
    if (value && !(*value > 0)) file_.fail("the key '" + name(key) + "' is " + std::to_string(*value) + "; it must be greater than 0");
    return value;
  }
  double needed_positive(std::string_view key) {
    const auto value = positive(key);
    if (!value) file_.fail("the key '" + name(key) + "' is missing");
    return *value;
  }
  // A feature that we do not have: the key may be there as long as it switches the feature off.
  void must_be_zero(std::string_view key, std::string_view what) {
    const auto value = optional_number(key);
    if (value && *value != 0) file_.fail("the key '" + name(key) + "' is " + std::to_string(*value) + ": " + std::string(what) + " is not supported");
  }
  void harmless(std::string_view key) { name(key); }

  void refuse_unknown() const {
    for (const auto& [key, value] : file_.keys()) {
      if (key.starts_with(prefix_) && !known_.contains(key)) {
        file_.fail("the key " + in_marks(key) + " is not known; a feature that it may stand for would be dropped");
      }
    }
  }
  const Gguf& file() const { return file_; }

 private:
  const Gguf& file_;
  std::string prefix_;
  std::set<std::string, std::less<>> known_;
};

// A window that the file does not state is none, as in llama.cpp: its converter writes none for llama and starcoder2 (conversion/base.py,
// models/starcoder2.cpp), though config.json may have one (4096 in StarCoder2, Mistral 7B v0.1). Beyond it such a file sees more than its folder does.
inline std::optional<SlidingWindow> read_window(ArchitectureKeys& keys, std::string_view architecture, int layers, const Rope& rope) {
  const bool gemma2 = architecture == "gemma2";
  const bool gemma3 = architecture == "gemma3";
  auto length = keys.optional_whole("attention.sliding_window", 0);
  if (!length && gemma2) length = 4096;
  if (!length && gemma3) keys.file().fail("the key 'gemma3.attention.sliding_window' is missing");
  const auto local_theta = keys.positive("rope.freq_base_swa");
  const auto pattern_key = keys.name("attention.sliding_window_pattern");
  if (!length || *length == 0) return std::nullopt;

  SlidingWindow window{.length = *length};
  if (gemma2) window.full_every = 2;
  if (gemma3) window.full_every = 6;
  if (const GgufValue* pattern = keys.file().find(pattern_key)) {
    if (pattern->type != GgufType::array) {
      window.full_every = keys.optional_whole("attention.sliding_window_pattern");
    } else {  // one bool a layer: true where the layer has the window
      const GgufValue* bools = keys.file().array(pattern_key, GgufType::boolean);
      if (bools->count != static_cast<std::uint64_t>(layers)) {
        keys.file().fail("the key '" + pattern_key + "' has " + std::to_string(bools->count) + " elements, the model has " + std::to_string(layers) + " layers");
      }
      const auto slides = [&](int layer) { return *bools->integer_element(static_cast<std::uint64_t>(layer)) != 0; };
      const auto follows = [&](std::optional<int> every) {
        for (int layer = 0; layer < layers; ++layer) {
          if (slides(layer) == (every && (layer + 1) % *every == 0)) return false;
        }
        return true;
      };
      // The family's own pattern first: a model too short to show it says the same as config.json, which names it.
      if (!window.full_every || !follows(window.full_every)) {
        int first = 0;
        while (first < layers && slides(first)) ++first;
        window.full_every = first < layers ? std::optional<int>(first + 1) : std::nullopt;
      }
      if (!follows(window.full_every)) keys.file().fail("the key '" + pattern_key + "' is no pattern in which every n-th layer sees all positions");
    }
  }
  if (window.full_every == 1) return std::nullopt;
  const Rope local{.theta = local_theta.value_or(gemma3 ? 10000.0 : rope.theta)};
  if ((gemma3 || local_theta) && local != rope) window.rope = local;
  return window;
}

// Files write 0 for "none".
inline std::optional<double> read_soft_cap(ArchitectureKeys& keys, std::string_view key, std::optional<double> otherwise) {
  const auto cap = keys.optional_number(key);
  if (!cap) return otherwise;
  if (*cap < 0) keys.file().fail("the key '" + keys.name(key) + "' is " + text_of(*cap) + "; a soft cap is positive, or 0 for none");
  return *cap > 0 ? cap : std::nullopt;
}

inline Attention read_attention(ArchitectureKeys& keys, std::string_view architecture, int hidden, int layers) {
  const auto heads = keys.same_for_all_layers("attention.head_count");
  if (!heads) keys.file().fail("the key '" + keys.name("attention.head_count") + "' is missing");
  const int kv_heads = keys.same_for_all_layers("attention.head_count_kv").value_or(*heads);
  if (*heads % kv_heads != 0) {
    keys.file().fail(std::to_string(*heads) + " query heads cannot share " + std::to_string(kv_heads) + " KV heads evenly");
  }
  const auto key_length = keys.optional_whole("attention.key_length");
  const auto value_length = keys.optional_whole("attention.value_length");
  if (!key_length && hidden % *heads != 0) {
    keys.file().fail("the hidden size " + std::to_string(hidden) + " is no multiple of the " + std::to_string(*heads) + " heads, and no head size is given");
  }
  const int head_dim = key_length.value_or(hidden / *heads);
  if (value_length.value_or(hidden / *heads) != head_dim) {
    keys.file().fail("keys have the length " + std::to_string(head_dim) + " and values " + std::to_string(value_length.value_or(hidden / *heads)) +
                     "; different lengths are not supported");
  }
  if (std::int64_t{*heads} * head_dim > INT32_MAX / 4) {
    keys.file().fail(std::to_string(*heads) + " heads of " + std::to_string(head_dim) + " values are more than any model has");
  }
  Attention attention{.heads = *heads, .kv_heads = kv_heads, .head_dim = head_dim};

  // Two of Gemma's sizes scale by hidden / heads instead; llama.cpp knows them by their number of layers, and so does the file format.
  auto scale = keys.positive("attention.scale");
  const bool gemma_27b = (architecture == "gemma2" && layers == 46) || (architecture == "gemma3" && layers == 62);
  if (!scale && gemma_27b) scale = 1.0 / std::sqrt(static_cast<double>(hidden) / *heads);
  if (scale && std::abs(*scale * std::sqrt(static_cast<double>(head_dim)) - 1.0) > 1e-6) attention.scale = scale;

  attention.soft_cap = read_soft_cap(keys, "attn_logit_softcapping", architecture == "gemma2" ? std::optional(50.0) : std::nullopt);
  return attention;
}

inline Norm read_norm(ArchitectureKeys& keys, bool layer_norm) {
  if (layer_norm) return LayerNorm{.epsilon = keys.needed_positive("attention.layer_norm_epsilon")};
  return RmsNorm{.epsilon = keys.needed_positive("attention.layer_norm_rms_epsilon")};
}

// Which optional parts there are is said by the tensors alone. All layers must agree.
struct Presence {
  bool qkv_bias, output_bias, mlp_bias, norm_bias;
  bool operator==(const Presence&) const = default;
};
inline Presence presence(const GgufTensors& tensors, const Gguf& file, int layer) {
  const auto all_or_none = [&](std::initializer_list<const char*> names) {
    int found = 0, possible = 0;
    std::string missing;
    for (const char* name : names) {
      const std::string block = "blk." + std::to_string(layer) + "." + name;
      if (!tensors.has(block + ".weight")) continue;  // the plain MLP has no gate, a fused QKV no parts
      ++possible;
      if (tensors.has(block + ".bias")) ++found; else missing = block + ".bias";
    }
    if (found != 0 && found != possible) file.fail("the tensor '" + missing + "' is missing, though the matrices beside it have a bias");
    return found != 0;
  };
  return {.qkv_bias = all_or_none({"attn_qkv", "attn_q", "attn_k", "attn_v"}),
          .output_bias = all_or_none({"attn_output"}),
          .mlp_bias = all_or_none({"ffn_gate", "ffn_up", "ffn_down"}),
          .norm_bias = all_or_none({"attn_norm", "ffn_norm"})};
}

}  // namespace gguf_detail

inline std::string read_gguf_architecture(const Gguf& file) {
  const auto name = file.text("general.architecture");
  if (!name) file.fail("the key 'general.architecture' is missing");
  if (!gguf_detail::find_family(*name)) {
    std::string known;
    for (const auto& family : gguf_detail::gguf_families) known += (known.empty() ? "" : ", ") + std::string(family.name);
    file.fail("unsupported architecture " + in_marks(*name) + "; supported are " + known);
  }
  const auto type = file.text("general.type");
  if (type && *type != "model") file.fail("the file is of the type " + in_marks(*type) + ", not a whole model");
  const auto parts = file.integer("split.count", 0, INT32_MAX);
  if (parts && *parts > 1) file.fail("the model is split into " + std::to_string(*parts) + " files; join them first");
  return std::string(*name);
}

// Keys and presence of tensors to a spec. Shapes are checked afterwards, when the weights are looked up by it.
inline Spec read_gguf_spec(const Gguf& file, GgufTensors& tensors) {
  using namespace gguf_detail;
  const std::string architecture = read_gguf_architecture(file);
  const GgufFamily& family = *find_family(architecture);
  const bool gpt2 = architecture == "gpt2";
  const bool granite = architecture == "granite";
  ArchitectureKeys keys(file, architecture);
  keys.must_be_zero("expert_count", "a mixture of experts");
  keys.must_be_zero("expert_used_count", "a mixture of experts");
  keys.must_be_zero("attention.max_alibi_bias", "ALiBi");
  keys.must_be_zero("attention.clamp_kqv", "clamping of Q, K and V");
  for (const auto* name : {"vocab_size", "tensor_data_layout"}) keys.harmless(name);
  const auto finetuned = file.flag(keys.name("rope.scaling.finetuned"));
  if (granite && finetuned == false) file.fail("the key 'granite.rope.scaling.finetuned' is false: Granite without RoPE is not supported");
  if (file.flag(keys.name("attention.causal")) == false) file.fail("attention that is not causal is not supported");
  const auto parallel = file.flag(keys.name("use_parallel_residual"));
  if (parallel == true && architecture != "gptneox" && architecture != "stablelm") {
    file.fail("parallel residuals are not supported in the architecture " + in_marks(architecture));
  }

  const int hidden = keys.whole("embedding_length");
  const int layers = keys.whole("block_count");
  const int context = keys.whole("context_length");
  const auto width = keys.same_for_all_layers("feed_forward_length");
  if (!width) file.fail("the key '" + keys.name("feed_forward_length") + "' is missing");
  if (static_cast<std::size_t>(layers) > file.tensors().size()) {
    file.fail("the key '" + keys.name("block_count") + "' is " + std::to_string(layers) + ", the file has only " + std::to_string(file.tensors().size()) + " tensors");
  }
  const Tensor embedding = tensors.any("token_embd.weight");
  if (embedding.rows > INT32_MAX) file.fail("the tensor 'token_embd.weight' has " + std::to_string(embedding.rows) + " rows");

  Spec spec{.hidden = hidden, .layers = layers, .vocab = static_cast<int>(embedding.rows), .context = context,
            .attention = read_attention(keys, architecture, hidden, layers), .position = Absolute{context}, .norm = read_norm(keys, family.layer_norm),
            .mlp = GatedMlp{.width = *width, .activation = family.activation}, .head = TiedHead{}, .norm_placement = family.norm_placement};
  if (!gpt2) spec.position = read_rope(keys, tensors, spec.attention.head_dim, context);
  const bool neox_20b = architecture == "gptneox" && hidden == 6144 && layers == 44;
  if (family.plain_mlp) spec.mlp = PlainMlp{.width = *width, .activation = neox_20b ? Activation::gelu_tanh : family.activation};
  if (const auto* rope = std::get_if<Rope>(&spec.position)) spec.attention.window = read_window(keys, architecture, layers, *rope);
  if (architecture == "olmo2" && spec.attention.window) file.fail("OLMo 3, an olmo2 file with a sliding window, is not supported");
  if (family.scaled_embedding) spec.embedding_scale = std::sqrt(static_cast<double>(hidden));
  if (granite) {
    const auto multiplier = [&](std::string_view key) {  // 1 changes nothing, 0 says none
      const auto value = keys.optional_number(key);
      return value == 1.0 || value == 0.0 ? std::nullopt : keys.positive(key);
    };
    spec.embedding_scale = multiplier("embedding_scale");
    spec.residual_scale = multiplier("residual_scale");
    spec.logit_divisor = multiplier("logit_scale");
  }
  spec.attention.qk_norm = family.qk_norm;
  if (architecture == "gptneox" && parallel.value_or(true)) spec.residual = Residual::parallel;
  // The converter (conversion/stablelm.py) writes StableLM's key as true where config.json does not have it, though transformers takes false then.
  // The missing norm tells, as in llama.cpp (models/stablelm.cpp); a key that says false against it leaves the norm missing.
  if (architecture == "stablelm" && parallel != false && !tensors.has("blk.0.ffn_norm.weight")) spec.residual = Residual::parallel_shared_norm;
  spec.logit_soft_cap = read_soft_cap(keys, "final_logit_softcapping", architecture == "gemma2" ? std::optional(30.0) : std::nullopt);
  keys.refuse_unknown();

  const Presence first = presence(tensors, file, 0);
  for (int layer = 1; layer < layers; ++layer) {
    if (presence(tensors, file, layer) != first) file.fail("layer " + std::to_string(layer) + " has other biases than layer 0; layers that differ are not supported");
  }
  spec.attention.qkv_bias = first.qkv_bias;
  spec.attention.output_bias = first.output_bias;
  std::visit([&](auto& mlp) { mlp.bias = first.mlp_bias; }, spec.mlp);
  if (auto* norm = std::get_if<LayerNorm>(&spec.norm)) norm->bias = first.norm_bias;

  const bool head_bias = tensors.has("output.bias");
  spec.head = TiedHead{.bias = head_bias};
  if (tensors.has("output.weight")) {
    const Tensor head = tensors.matrix("output.weight", spec.vocab, hidden);
    if (!same_values(head, embedding)) spec.head = UntiedHead{.bias = head_bias};
  }
  return spec;
}

}  // namespace diecast
