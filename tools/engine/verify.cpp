// `verify`: the reference in float, and the cpu backend's products, against the reference in double, operation by operation on this model's own
// weights. Each error stands beside
// a bound derived from the operation (Higham 2002: n additions of products are off by at most gamma(n) times the sum of the absolute products).
// The digests are recomputed from the bytes.
#include <cmath>
#include <optional>
#include <random>

#include <fmt/core.h>

#include <diecast/cpu/form.hpp>
#include <diecast/cpu/parts.hpp>
#include <diecast/identity/identity.hpp>
#include <diecast/reference/reference.hpp>

#include "load.hpp"
#include "text.hpp"
#include "verify.hpp"
#include "waiting.hpp"

namespace diecast::shell {

namespace {

using reference::Matrix;
using reference::Vector;

Vector<float> random_vector(std::mt19937& random, Eigen::Index size) {
  std::normal_distribution<float> normal;
  Vector<float> x(size);
  for (Eigen::Index i = 0; i < size; ++i) x[i] = normal(random);
  return x;
}

void check_product(Line& line, std::mt19937& random, const reference::Linear<float>& linear, const reference::Linear<double>& exact, reference::Workers& workers) {
  const Vector<float> x = random_vector(random, linear.weight.cols());
  const Matrix<float> y = reference::multiply<float>(x.transpose(), linear, workers);
  const Matrix<double> z = reference::multiply<double>(x.cast<double>().transpose(), exact, workers);
  const Vector<double> size = exact.weight.cwiseAbs() * x.cast<double>().cwiseAbs();
  for (Eigen::Index i = 0; i < y.cols(); ++i) {
    const double bias = exact.bias.size() > 0 ? std::abs(exact.bias[i]) : 0;
    line.add(std::abs(static_cast<double>(y(0, i)) - z(0, i)), gamma(static_cast<double>(x.size()) + 1) * (size[i] + bias));
  }
  ++line.count;
}

// A product of the cpu backend. An activation is off by half a step of its block's scale at most; the rest is rounding, of three operations a block.
void check_fast_product(Line& line, std::mt19937& random, const cpu::Path& path, const cpu::LinearPart& part, const reference::Linear<double>& exact, bool wide) {
  const Vector<float> x = random_vector(random, exact.weight.cols());
  const std::vector<float> y = path.multiply(part, {x.data(), static_cast<std::size_t>(x.size())}, wide);
  Vector<double> step = Vector<double>::Zero(x.size());
  if (cpu::form_of(part.matrix.format).integers)
    for (Eigen::Index begin = 0; begin < x.size(); begin += cpu::block_columns)
      step.segment(begin, cpu::block_columns).setConstant(x.segment(begin, cpu::block_columns).cwiseAbs().maxCoeff() / (wide ? 16256.0 : 127.0));
  const Vector<double> z = exact.weight * x.cast<double>(), size = exact.weight.cwiseAbs() * x.cast<double>().cwiseAbs();
  const Vector<double> rounding = exact.weight.cwiseAbs() * step * 0.5001;
  // A block's integers are summed exactly before its minimum is added: both may be larger than what they come to.
  const double largest = exact.weight.cwiseAbs().maxCoeff() * x.cwiseAbs().maxCoeff() * static_cast<double>(x.size());
  for (Eigen::Index i = 0; i < z.size(); ++i) {
    const double bias = exact.bias.size() > 0 ? exact.bias[i] : 0;
    line.add(std::abs(static_cast<double>(y[static_cast<std::size_t>(i)]) - (z[i] + bias)),
             rounding[i] + gamma(static_cast<double>(x.size()) + 8) * (size[i] + std::abs(bias)) + gamma(8) * largest);
  }
  ++line.count;
}

void check_norm(Line& line, std::mt19937& random, const Norm& norm, const reference::NormFactors<float>& factors, const reference::NormFactors<double>& exact) {
  const Vector<float> x = random_vector(random, factors.weight.size());
  const Matrix<float> y = reference::normalise<float>(norm, factors, x.transpose());
  const Matrix<double> z = reference::normalise<double>(norm, exact, x.cast<double>().transpose());
  const double n = static_cast<double>(x.size());
  const double scale = std::sqrt(n) / x.cast<double>().norm();
  for (Eigen::Index i = 0; i < y.cols(); ++i) {
    // Relative to the value before the bias; the mean that LayerNorm takes off is itself a sum of n numbers.
    const double bias = exact.bias.size() > 0 ? std::abs(exact.bias[i]) : 0;
    const double mean = std::holds_alternative<LayerNorm>(norm) ? x.cast<double>().cwiseAbs().mean() : 0;
    const double value = (std::abs(static_cast<double>(x[i])) + 2 * mean) * scale * std::abs(exact.weight[i]);
    line.add(std::abs(static_cast<double>(y(0, i)) - z(0, i)), gamma(2 * n + 8) * 2 * (value + bias));
  }
  ++line.count;
}

void check_rope(Line& line, std::mt19937& random, const Rope& rope, int head_dim, int context) {
  const auto frequencies = inverse_frequencies(rope, head_dim);
  for (const int position : {0, 1, context / 2, context - 1}) {
    Vector<float> x = random_vector(random, head_dim);
    Vector<double> exact = x.cast<double>();
    const double size = exact.cwiseAbs().maxCoeff();
    const double stretch = stretch_of(rope);
    reference::rotate(x.data(), frequencies, position, stretch);
    reference::rotate(exact.data(), frequencies, position, stretch);
    for (Eigen::Index i = 0; i < x.size(); ++i) line.add(std::abs(static_cast<double>(x[i]) - exact[i]), gamma(3) * 2 * size * (std::max)(1.0, stretch));
    ++line.count;
  }
}

void check_attention(Line& line, std::mt19937& random, const Attention& a) {
  constexpr int positions = 100;
  const reference::AttentionNumbers numbers{a.scale.value_or(1 / std::sqrt(static_cast<double>(a.head_dim))), a.soft_cap};
  const Vector<float> query = random_vector(random, a.head_dim);
  std::vector<Vector<float>> keys, values;
  for (int i = 0; i < positions; ++i) {
    keys.push_back(random_vector(random, a.head_dim));
    values.push_back(random_vector(random, a.head_dim));
  }
  const auto at = [](const std::vector<Vector<float>>& list) { return [&list](int i) -> const Vector<float>& { return list[static_cast<std::size_t>(i)]; }; };
  const auto exactly = [](const std::vector<Vector<float>>& list) { return [&list](int i) -> Vector<double> { return list[static_cast<std::size_t>(i)].cast<double>(); }; };
  const Vector<float> y = reference::attend<float>(query, positions, numbers, at(keys), at(values));
  const Vector<double> z = reference::attend<double>(query.cast<double>(), positions, numbers, exactly(keys), exactly(values));
  // A score that is off by e changes its weight by a factor within exp(+-2e): once itself, once through the sum.
  double score_error = 0, score_size = 0, value_size = 0;
  for (int i = 0; i < positions; ++i) {
    const double size = query.cast<double>().cwiseAbs().dot(keys[static_cast<std::size_t>(i)].cast<double>().cwiseAbs()) * numbers.scale;
    score_error = std::max(score_error, gamma(a.head_dim + 4) * size);
    score_size = std::max(score_size, size);
    value_size = std::max(value_size, values[static_cast<std::size_t>(i)].cast<double>().cwiseAbs().maxCoeff());
  }
  const double relative = std::expm1(2 * (score_error + 2 * unit * score_size)) + gamma(2 * positions + 8);
  for (Eigen::Index i = 0; i < y.size(); ++i) line.add(std::abs(static_cast<double>(y[i]) - z[i]), relative * value_size);
  ++line.count;
}

// All logits of 16 tokens.
std::vector<float> logits_of_model(const CommonOptions& common, Opened& opened, const std::string& backend) {
  CommonOptions options = common;
  options.backend = backend;
  options.precision = "exact";
  options.cache_type.clear();
  options.context = std::min(16, opened.model.spec.context);
  const auto context = make_backend(options, opened)->open(*options.context);
  const int sequence = context->table().add();
  std::vector<Row> rows;
  for (int i = 0; i < *options.context; ++i) rows.push_back({static_cast<int>((i * 7919LL + 11) % opened.model.spec.vocab), i, sequence, true});
  const Logits logits = context->forward(rows);
  return {logits.values.begin(), logits.values.end()};
}

// The whole model against the project's promise.
Line check_model(const CommonOptions& common, Opened& opened, const std::string& checked, double promise) {
  Line line{.operation = checked == "cpu" ? "cpu: model, logits" : "whole model, logits"};
  const std::vector<float> got = logits_of_model(common, opened, checked), want = logits_of_model(common, opened, "reference-double");
  for (std::size_t i = 0; i < want.size(); ++i) line.add(std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i])), promise);
  line.count = 1;
  return line;
}

// A device multiplies weights of integers by activations of 8 bits. Rounding to a 127th of the greatest of 32 loses 0.7 % of what goes into a product; twice
// that, over the root of the products' number, bounds the difference of all logits, relative to them all.
Line check_model_on_device(const CommonOptions& common, Opened& opened) {
  Line line{.operation = common.backend + ": model, relative"};
  const std::vector<float> got = logits_of_model(common, opened, common.backend), want = logits_of_model(common, opened, "reference-double");
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    difference += std::pow(static_cast<double>(got[i]) - static_cast<double>(want[i]), 2);
    size += std::pow(static_cast<double>(want[i]), 2);
  }
  line.add(std::sqrt(difference / size), 2 * 0.007 * std::sqrt(4.0 * opened.model.spec.layers + 1));
  line.count = 1;
  return line;
}

std::vector<Line> check_operations(const Model& model, const reference::Parameters<double>& exact, const cpu::PackedModel& packed, const cpu::Path& path, int threads) {
  const reference::Parameters<float> p(model.spec, model.weights, threads);
  reference::Workers workers(threads);
  std::mt19937 random(1);
  Line norm{.operation = "norm"}, qkv{.operation = "q, k, v"}, rope{.operation = "rope"}, attention{.operation = "attention"};
  Line narrow{.operation = "cpu: products, 8 bits"}, wide{.operation = "cpu: products, 15 bits"};
  const auto check_fast = [&](const cpu::LinearPart& part, const reference::Linear<double>& truth) {
    if (!cpu::runs_here(path.isa)) return;
    check_fast_product(narrow, random, path, part, truth, false);
    check_fast_product(wide, random, path, part, truth, true);
  };
  Line output{.operation = "attention output"}, up{.operation = "gate, up"}, down{.operation = "down"}, head{.operation = "head"};
  for (std::size_t i = 0; i < p.layers.size(); ++i) {
    const auto& layer = p.layers[i];
    const auto& truth = exact.layers[i];
    if (layer.attention_norm) check_norm(norm, random, p.spec.norm, *layer.attention_norm, *truth.attention_norm);
    if (layer.mlp_norm) check_norm(norm, random, p.spec.norm, *layer.mlp_norm, *truth.mlp_norm);
    if (layer.after_attention) check_norm(norm, random, p.spec.norm, *layer.after_attention, *truth.after_attention);
    if (layer.after_mlp) check_norm(norm, random, p.spec.norm, *layer.after_mlp, *truth.after_mlp);
    check_product(qkv, random, layer.q, truth.q, workers);
    check_product(qkv, random, layer.k, truth.k, workers);
    check_product(qkv, random, layer.v, truth.v, workers);
    check_product(output, random, layer.output, truth.output, workers);
    if (layer.mlp.gate) check_product(up, random, *layer.mlp.gate, *truth.mlp.gate, workers);
    check_product(up, random, layer.mlp.up, truth.mlp.up, workers);
    check_product(down, random, layer.mlp.down, truth.mlp.down, workers);
    check_attention(attention, random, p.spec.attention);
    const cpu::LayerParts& parts = packed.parts.layers[i];
    for (const auto& [part, weights] : {std::pair{&parts.q, &truth.q}, {&parts.k, &truth.k}, {&parts.v, &truth.v}, {&parts.output, &truth.output}, {&parts.up, &truth.mlp.up}, {&parts.down, &truth.mlp.down}})
      check_fast(*part, *weights);
    if (truth.mlp.gate) check_fast(parts.gate, *truth.mlp.gate);
  }
  if (const auto* positions = std::get_if<Rope>(&p.spec.position)) check_rope(rope, random, *positions, p.spec.attention.head_dim, p.spec.context);
  check_norm(norm, random, p.spec.norm, p.final_norm, exact.final_norm);
  const bool own = p.head.size() > 0;
  check_product(head, random, {own ? p.head : p.embedding, p.head_bias}, {own ? exact.head : exact.embedding, exact.head_bias}, workers);
  check_fast(packed.parts.head, {own ? exact.head : exact.embedding, exact.head_bias});
  std::vector<Line> lines{norm, qkv, rope, attention, output, up, down, head, narrow, wide};
  std::erase_if(lines, [](const Line& line) { return line.count == 0; });
  return lines;
}

}  // namespace

int verify(const Compiled& compiled, const CommonOptions& common) {
  std::optional<Waiting> waiting("verifying");
  Opened opened = open_checked(compiled, common);
  need_whole_model(opened);
  const Model& model = opened.model;
  const Identity identity = identity_of(model);
  check_identity(compiled, model, identity);
  if (!opened.packed) opened.packed = std::make_shared<const cpu::PackedModel>(cpu::pack(model.spec, model.weights, thread_count(common)));
  std::vector<Line> lines;
  {
    const reference::Parameters<double> exact(model.spec, model.weights, thread_count(common));
    lines = check_operations(model, exact, *opened.packed, common.cpu, thread_count(common));
    if (on_device(common)) {
      const std::shared_ptr<const cuda::DeviceBackend> device = open_device(common, opened);
      for (Line& line : check_stages(model, exact, *device)) lines.push_back(std::move(line));
    }
  }
  lines.push_back(check_model(common, opened, "reference", 2e-3));
  // The reference's ids wherever its two best are half a unit apart: no logit may be off by a quarter.
  if (cpu::runs_here(common.cpu.isa)) lines.push_back(check_model(common, opened, "cpu", 0.25));
  if (on_device(common)) lines.push_back(check_model_on_device(common, opened));
  waiting.reset();

  bool failed = false;
  Json table = Json::array();
  if (!common.json) put(fmt::format("{:<22}{:>8}{:>14}{:>16}\n", "against double", "checks", "error", "error / bound"));
  for (const Line& line : lines) {
    failed = failed || line.failed;
    if (common.json) table.push_back({{"operation", line.operation}, {"checks", line.count}, {"error", line.error}, {"error_of_bound", line.share}, {"passed", !line.failed}});
    else put(fmt::format("{:<22}{:>8}{:>14.3e}{:>16.4f}{}\n", line.operation, line.count, line.error, line.share, line.failed ? "  FAILED" : ""));
  }
  if (common.json)
    put(line_of({{"table", std::move(table)},
                 {"identity", identity.whole},
                 {"digests", {{"weights", identity.weights}, {"tokenizer", identity.tokenizer}, {"chat_template", identity.chat_template}, {"generation", identity.generation}}},
                 {"passed", !failed}}));
  else
    put(fmt::format("weights       {}\ntokenizer     {}\nchat template {}\ngeneration    {}\nidentity      {}\n", identity.weights, identity.tokenizer,
                    identity.chat_template, identity.generation, identity.whole));
  return failed ? 1 : 0;
}

}  // namespace diecast::shell
