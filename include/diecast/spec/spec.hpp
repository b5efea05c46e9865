// What a decoder-only language model is, as one literal value: every number that decides which arithmetic runs.
// The spec describes the model, never the file it came in: the same weights as GGUF and as safetensors give the same spec.
// What a model does not have is an empty optional or another alternative of a variant, never a zero with a meaning.
#pragma once

#include <optional>
#include <variant>

#include <diecast/spec/hana.hpp>

namespace diecast {

enum class Activation { silu, gelu, gelu_tanh, relu };  // gelu: with erf; gelu_tanh: Hendrycks' approximation

// How RoPE's frequencies are changed for contexts longer than those of the training.
struct LinearScaling {
  double factor;  // every frequency is divided by it
  constexpr bool operator==(const LinearScaling&) const = default;
};
struct Llama3Scaling {  // Llama 3.1: long waves are divided by factor, short ones kept, those between blended
  double factor;
  double low_freq_factor;
  double high_freq_factor;
  int original_context;
  constexpr bool operator==(const Llama3Scaling&) const = default;
};
// YaRN (Peng et al. 2023): pairs that turn often within the original context are kept, those that hardly turn are divided by factor,
// those between blended; and what turns is stretched by attention_factor.
struct YarnScaling {
  double factor;
  int original_context;
  double beta_fast = 32;  // pairs that turn at least as often are kept
  double beta_slow = 1;   // pairs that turn at most as often are divided
  std::optional<double> attention_factor{};  // absent: 0.1 ln(factor) + 1, and 1 for factors up to 1
  constexpr bool operator==(const YarnScaling&) const = default;
};
using RopeScaling = std::variant<LinearScaling, Llama3Scaling, YarnScaling>;

// Rotary positions (Su et al. 2021): Q and K turn, in every layer, by an angle that grows with the position.
// Pairs are (i, i + rotary_dim/2); files that store neighbouring pairs are permuted when they are read.
struct Rope {
  double theta;
  std::optional<int> rotary_dim{};  // how many leading values of a head turn; absent: all of them
  std::optional<RopeScaling> scaling{};
  constexpr bool operator==(const Rope&) const = default;
};
// Learned absolute positions (GPT-2): one row of a table is added to each embedding.
struct Absolute {
  int positions;  // rows of the table
  constexpr bool operator==(const Absolute&) const = default;
};
using Position = std::variant<Absolute, Rope>;

struct RmsNorm {
  double epsilon;
  constexpr bool operator==(const RmsNorm&) const = default;
};
struct LayerNorm {
  double epsilon;
  bool bias = true;
  constexpr bool operator==(const LayerNorm&) const = default;
};
using Norm = std::variant<RmsNorm, LayerNorm>;

// Layers that see only the last `length` positions, the own one included; every `full_every`-th layer
// (counted from 1) sees all. Layers with a window may turn with a RoPE of their own (Gemma 3).
struct SlidingWindow {
  int length;
  std::optional<int> full_every{};  // absent: no layer sees all
  std::optional<Rope> rope{};       // absent: the model's
  constexpr bool operator==(const SlidingWindow&) const = default;
};

// RMSNorm on Q and on K, before RoPE.
enum class QkNorm {
  each_head,   // over each head's values, all heads with one weight [head_dim] (Qwen 3, Gemma 3)
  all_heads,   // over the values of all heads together, weight [heads * head_dim] (OLMo 2)
};

struct Attention {
  int heads;
  int kv_heads;  // each serves heads / kv_heads query heads
  int head_dim;  // independent of hidden / heads
  bool qkv_bias = false;
  bool output_bias = false;
  std::optional<QkNorm> qk_norm{};
  std::optional<double> scale{};    // of Q K^T; absent: 1 / sqrt(head_dim)
  std::optional<double> soft_cap{}; // scores s become cap * tanh(s / cap)
  std::optional<SlidingWindow> window{};
  constexpr bool operator==(const Attention&) const = default;
};

struct GatedMlp {  // down(activation(gate(x)) * up(x))
  int width;
  Activation activation;
  bool bias = false;
  constexpr bool operator==(const GatedMlp&) const = default;
};
struct PlainMlp {  // down(activation(up(x)))
  int width;
  Activation activation;
  bool bias = false;
  constexpr bool operator==(const PlainMlp&) const = default;
};
using Mlp = std::variant<GatedMlp, PlainMlp>;

struct TiedHead {  // logits = embedding . h (+ bias)
  bool bias = false;
  constexpr bool operator==(const TiedHead&) const = default;
};
struct UntiedHead {  // logits = W . h (+ bias), W of its own
  bool bias = false;
  constexpr bool operator==(const UntiedHead&) const = default;
};
using Head = std::variant<TiedHead, UntiedHead>;

// Where a layer normalises: the input of attention and of the MLP, their output, or both.
enum class NormPlacement { before, before_and_after, after };

// How attention and MLP meet in a layer.
enum class Residual {
  sequential,           // the MLP reads what attention has been added to
  parallel,             // both read the layer's input, each through a norm of its own (GPT-NeoX)
  parallel_shared_norm  // both read it through one norm (StableLM 2 12B)
};

struct Spec {
  int hidden;
  int layers;
  int vocab;
  int context;  // the longest sequence in tokens, prompt and answer together
  Attention attention;
  Position position;
  Norm norm;
  Mlp mlp;
  Head head;
  NormPlacement norm_placement = NormPlacement::before;
  Residual residual = Residual::sequential;
  std::optional<double> embedding_scale{}; // hidden states = embedding * scale
  std::optional<double> residual_scale{};  // of what attention and the MLP add to the hidden states
  std::optional<double> logit_divisor{};   // logits z become z / divisor, before any soft cap
  std::optional<double> logit_soft_cap{};  // logits z become cap * tanh(z / cap)
  constexpr bool operator==(const Spec&) const = default;
};

}  // namespace diecast

BOOST_HANA_ADAPT_STRUCT(diecast::LinearScaling, factor);
BOOST_HANA_ADAPT_STRUCT(diecast::Llama3Scaling, factor, low_freq_factor, high_freq_factor, original_context);
BOOST_HANA_ADAPT_STRUCT(diecast::YarnScaling, factor, original_context, beta_fast, beta_slow, attention_factor);
BOOST_HANA_ADAPT_STRUCT(diecast::Rope, theta, rotary_dim, scaling);
BOOST_HANA_ADAPT_STRUCT(diecast::Absolute, positions);
BOOST_HANA_ADAPT_STRUCT(diecast::RmsNorm, epsilon);
BOOST_HANA_ADAPT_STRUCT(diecast::LayerNorm, epsilon, bias);
BOOST_HANA_ADAPT_STRUCT(diecast::SlidingWindow, length, full_every, rope);
BOOST_HANA_ADAPT_STRUCT(diecast::Attention, heads, kv_heads, head_dim, qkv_bias, output_bias, qk_norm, scale, soft_cap, window);
BOOST_HANA_ADAPT_STRUCT(diecast::GatedMlp, width, activation, bias);
BOOST_HANA_ADAPT_STRUCT(diecast::PlainMlp, width, activation, bias);
BOOST_HANA_ADAPT_STRUCT(diecast::TiedHead, bias);
BOOST_HANA_ADAPT_STRUCT(diecast::UntiedHead, bias);
BOOST_HANA_ADAPT_STRUCT(diecast::Spec, hidden, layers, vocab, context, attention, position, norm, mlp, head, norm_placement,
                        residual, embedding_scale, residual_scale, logit_divisor, logit_soft_cap);
