// Impossible models do not exist: one constexpr check, run at compile time on configs and at run time on files.
// At compile time a broken rule shows as a failed call of `rule` whose arguments are the sentence and both values; g++, clang and nvcc print them.
#pragma once

#include <string>

#include <diecast/error.hpp>
#include <diecast/spec/walk.hpp>

namespace diecast {

struct BrokenRule {
  const char* sentence;
  double left, right;
};

// Throws when the rule does not hold: the sentence names the fields, left and right are their values in its order.
constexpr void rule(bool holds, const char* sentence, double left, double right) {
  if (!holds) throw BrokenRule{sentence, left, right};
}

constexpr int largest_extent = 1 << 24;  // beyond every model there is; products of two extents fit 64 bits easily
constexpr int largest_layers = 4096;

namespace detail {

constexpr void extent(int value, const char* sentence) {
  rule(value >= 1 && value <= largest_extent, sentence, value, largest_extent);
}
// Also refuses NaN and infinity.
constexpr void positive(double value, const char* sentence) { rule(value > 0 && value < 1e30, sentence, value, 1e30); }

constexpr void check(const Rope& rope, int head_dim) {
  positive(rope.theta, "rope theta must be positive and finite");
  const int rotary_dim = rope.rotary_dim.value_or(head_dim);
  rule(rotary_dim >= 2 && rotary_dim <= head_dim, "rope rotary_dim must be at least 2 and at most attention.head_dim", rotary_dim, head_dim);
  rule(rotary_dim % 2 == 0, "rope rotary_dim must be a multiple of 2, since values turn in pairs", rotary_dim, 2);
  if (!rope.scaling) return;
  if (const auto* linear = std::get_if<LinearScaling>(&*rope.scaling)) {
    positive(linear->factor, "rope scaling factor must be positive and finite");
  }
  if (const auto* llama3 = std::get_if<Llama3Scaling>(&*rope.scaling)) {
    positive(llama3->factor, "rope scaling factor must be positive and finite");
    positive(llama3->low_freq_factor, "rope scaling low_freq_factor must be positive and finite");
    rule(llama3->high_freq_factor > llama3->low_freq_factor && llama3->high_freq_factor < 1e30,
         "rope scaling high_freq_factor must be greater than low_freq_factor", llama3->high_freq_factor, llama3->low_freq_factor);
    extent(llama3->original_context, "rope scaling original_context must be at least 1 and at most 2^24");
  }
  if (const auto* yarn = std::get_if<YarnScaling>(&*rope.scaling)) {
    positive(yarn->factor, "rope scaling factor must be positive and finite");
    extent(yarn->original_context, "rope scaling original_context must be at least 1 and at most 2^24");
    rule(rope.theta > 1, "rope theta must be greater than 1 with YaRN, whose bands divide by its logarithm", rope.theta, 1);
    positive(yarn->beta_slow, "rope scaling beta_slow must be positive and finite");
    rule(yarn->beta_fast > yarn->beta_slow && yarn->beta_fast < 1e30, "rope scaling beta_fast must be greater than beta_slow", yarn->beta_fast,
         yarn->beta_slow);
    if (yarn->attention_factor) positive(*yarn->attention_factor, "rope scaling attention_factor must be positive and finite");
  }
}

constexpr void check(const Attention& a) {
  extent(a.heads, "attention.heads must be at least 1 and at most 2^24");
  extent(a.kv_heads, "attention.kv_heads must be at least 1 and at most 2^24");
  extent(a.head_dim, "attention.head_dim must be at least 1 and at most 2^24");
  rule(a.heads % a.kv_heads == 0, "attention.heads must be a multiple of attention.kv_heads, since each KV head serves as many query heads", a.heads,
       a.kv_heads);
  rule(static_cast<long long>(a.heads) * a.head_dim <= largest_extent, "attention.heads times attention.head_dim must be at most 2^24", a.heads, a.head_dim);
  if (a.scale) positive(*a.scale, "attention.scale must be positive and finite");
  if (a.soft_cap) positive(*a.soft_cap, "attention.soft_cap must be positive and finite");
  if (a.window) {
    extent(a.window->length, "attention.window.length must be at least 1 and at most 2^24");
    if (a.window->full_every) rule(*a.window->full_every >= 1, "attention.window.full_every must be at least 1", *a.window->full_every, 1);
    if (a.window->rope) check(*a.window->rope, a.head_dim);
  }
}

}  // namespace detail

constexpr void check(const Spec& s) {
  detail::extent(s.hidden, "hidden must be at least 1 and at most 2^24");
  rule(s.layers >= 1 && s.layers <= largest_layers, "layers must be at least 1 and at most 4096", s.layers, largest_layers);
  detail::extent(s.vocab, "vocab must be at least 1 and at most 2^24");
  detail::extent(s.context, "context must be at least 1 and at most 2^24");
  detail::check(s.attention);
  if (const auto* rope = std::get_if<Rope>(&s.position)) detail::check(*rope, s.attention.head_dim);
  if (const auto* absolute = std::get_if<Absolute>(&s.position)) {
    detail::extent(absolute->positions, "position.positions must be at least 1 and at most 2^24");
    rule(s.context <= absolute->positions, "context must be at most position.positions, since every position needs its row of the table", s.context,
         absolute->positions);
    rule(!s.attention.window || !s.attention.window->rope, "attention.window.rope must be absent in a model with absolute positions", 1, 0);
  }
  const double epsilon = std::visit([](const auto& norm) { return norm.epsilon; }, s.norm);
  rule(epsilon > 0 && epsilon < 1, "norm.epsilon must be greater than 0 and less than 1", epsilon, 1);
  rule(!s.attention.qk_norm || std::holds_alternative<RmsNorm>(s.norm), "attention.qk_norm needs norm RmsNorm", 1, 0);
  rule(s.residual == Residual::sequential || s.norm_placement == NormPlacement::before,
       "residual parallel needs norm_placement before, since both branches read the layer's input through a norm", static_cast<int>(s.residual),
       static_cast<int>(s.norm_placement));
  detail::extent(std::visit([](const auto& mlp) { return mlp.width; }, s.mlp), "mlp.width must be at least 1 and at most 2^24");
  if (s.embedding_scale) detail::positive(*s.embedding_scale, "embedding_scale must be positive and finite");
  if (s.residual_scale) detail::positive(*s.residual_scale, "residual_scale must be positive and finite");
  if (s.logit_divisor) detail::positive(*s.logit_divisor, "logit_divisor must be positive and finite");
  if (s.logit_soft_cap) detail::positive(*s.logit_soft_cap, "logit_soft_cap must be positive and finite");
}

// The same at run time, for a spec that a file describes: an Error with the sentence and both values.
inline void check_file(const Spec& spec) {
  try {
    check(spec);
  } catch (const BrokenRule& broken) {
    throw Error("impossible model: " + std::string(broken.sentence) + " (values: " + text_of(broken.left) + " and " + text_of(broken.right) + ")");
  }
}

// For configs: static_assert(possible<Config>);
template <class Config>
inline constexpr bool possible = (check(Config::spec), true);

}  // namespace diecast
