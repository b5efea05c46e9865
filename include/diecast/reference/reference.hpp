// The reference backend: steps 3-5 in Eigen, in float or double, written to be read. It is the explanation of the model and the oracle
// of every other backend. All extents are run-time values, so it runs any file whose architecture the spec can say.
// A sequence's logits are the same bits alone or in any batch, prefilled at once, in chunks or token by token, on any number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <diecast/backend/backend.hpp>
#include <diecast/isa.hpp>
#include <diecast/reference/attention.hpp>
#include <diecast/reference/matrix.hpp>
#include <diecast/reference/mlp.hpp>
#include <diecast/reference/norm.hpp>
#include <diecast/reference/rope.hpp>
#include <diecast/spec/check.hpp>
#include <diecast/trace/trace.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::reference::inline DIECAST_ISA {

template <class Real>
struct LayerParameters {
  std::optional<NormFactors<Real>> attention_norm, mlp_norm;
  Linear<Real> q, k, v, output;
  Vector<Real> q_norm, k_norm;                                       // of one head or of all, or empty
  std::optional<NormFactors<Real>> after_attention, after_mlp;
  MlpWeights<Real> mlp;
};

// The model's numbers, decoded once.
template <class Real>
struct Parameters {
  Spec spec;
  int threads;
  Matrix<Real> embedding;  // [vocab, hidden]
  Matrix<Real> position;   // [positions, hidden], or empty
  std::vector<LayerParameters<Real>> layers;
  NormFactors<Real> final_norm;
  Matrix<Real> head;       // [vocab, hidden], or empty where it is tied
  Vector<Real> head_bias;  // [vocab], or empty

  Parameters(const Spec& of, const Weights& weights, int with_threads) : spec(of), threads(with_threads) {
    check_file(spec);
    Workers workers(threads);
    embedding = decode_matrix<Real>(weights.embedding, workers);
    if (weights.position) position = decode_matrix<Real>(*weights.position, workers);
    for (const LayerWeights& layer : weights.layers) layers.push_back(decode_layer(layer, workers));
    final_norm = decode_norm<Real>(weights.final_norm);
    if (weights.head) head = decode_matrix<Real>(*weights.head, workers);
    if (weights.head_bias) head_bias = decode_vector<Real>(*weights.head_bias);
  }

 private:
  static LayerParameters<Real> decode_layer(const LayerWeights& layer, Workers& workers) {
    LayerParameters<Real> p;
    if (layer.attention_norm) p.attention_norm = decode_norm<Real>(*layer.attention_norm);
    if (layer.mlp_norm) p.mlp_norm = decode_norm<Real>(*layer.mlp_norm);
    p.q = decode_linear<Real>(layer.q, workers);
    p.k = decode_linear<Real>(layer.k, workers);
    p.v = decode_linear<Real>(layer.v, workers);
    p.output = decode_linear<Real>(layer.output, workers);
    if (layer.q_norm) p.q_norm = decode_vector<Real>(*layer.q_norm);
    if (layer.k_norm) p.k_norm = decode_vector<Real>(*layer.k_norm);
    if (layer.after_attention) p.after_attention = decode_norm<Real>(*layer.after_attention);
    if (layer.after_mlp) p.after_mlp = decode_norm<Real>(*layer.after_mlp);
    if (layer.gate) p.mlp.gate = decode_linear<Real>(*layer.gate, workers);
    p.mlp.up = decode_linear<Real>(layer.up, workers);
    p.mlp.down = decode_linear<Real>(layer.down, workers);
    return p;
  }
};

template <class Real>
class ReferenceContext final : public Context {
 public:
  ReferenceContext(std::shared_ptr<const Parameters<Real>> parameters, int tokens)
      : parameters_(std::move(parameters)), table_(tokens), workers_(parameters_->threads), kv_width_(spec().attention.kv_heads * spec().attention.head_dim) {
    const auto values = static_cast<std::size_t>(table_.capacity()) * static_cast<std::size_t>(kv_width_) * static_cast<std::size_t>(spec().layers);
    keys_ = std::make_unique_for_overwrite<Real[]>(values);  // memory is touched only where tokens come to lie
    values_ = std::make_unique_for_overwrite<Real[]>(values);
    for (int layer = 0; layer < spec().layers; ++layer) views_.push_back(view_of(spec(), layer));
  }

  BlockTable& table() override { return table_; }

  Logits forward(std::span<const Row> rows, Trace* trace = nullptr) override {
    check_rows(spec(), table_, rows);
    for (const Row& row : rows) table_.append(row.sequence);
    Matrix<Real> hidden = [&] {
      const Trace::Scope span(trace, "embed");
      return embed(rows);
    }();
    for (int layer = 0; layer < spec().layers; ++layer) {
      const Trace::Scope span(trace, "block", layer);
      block(layer, rows, hidden);
    }
    const Trace::Scope span(trace, "head");
    return head(rows, hidden);
  }

  // Keys and values of a layer, layer after layer.
  std::size_t block_bytes() const override { return 2 * static_cast<std::size_t>(spec().layers) * layer_bytes(); }
  void read_block(int block, std::span<std::byte> to) const override {
    for (int i = 0; i < 2 * spec().layers; ++i) std::memcpy(to.data() + static_cast<std::size_t>(i) * layer_bytes(), block_of(i, block), layer_bytes());
  }
  void write_block(int block, std::span<const std::byte> from) override {
    for (int i = 0; i < 2 * spec().layers; ++i) std::memcpy(block_of(i, block), from.data() + static_cast<std::size_t>(i) * layer_bytes(), layer_bytes());
  }
  std::string block_layout() const override { return sizeof(Real) == sizeof(float) ? "reference, float" : "reference, double"; }

 private:
  const Spec& spec() const { return parameters_->spec; }

  // Step 3.
  Matrix<Real> embed(std::span<const Row> rows) const {  // -> [tokens, hidden]
    Matrix<Real> hidden(static_cast<Eigen::Index>(rows.size()), spec().hidden);
    for (Eigen::Index token = 0; token < hidden.rows(); ++token) {
      const Row& row = rows[static_cast<std::size_t>(token)];
      hidden.row(token) = parameters_->embedding.row(row.id);
      if (spec().embedding_scale) hidden.row(token) *= static_cast<Real>(*spec().embedding_scale);
      if (parameters_->position.size() > 0) hidden.row(token) += parameters_->position.row(row.position);
    }
    return hidden;
  }

  // Step 4: one block, in place.
  void block(int layer, std::span<const Row> rows, Matrix<Real>& hidden) {  // [tokens, hidden]
    const LayerParameters<Real>& p = parameters_->layers[static_cast<std::size_t>(layer)];
    if (spec().residual == Residual::sequential) {
      add(hidden, attention(layer, rows, normalised(p.attention_norm, hidden)), p.after_attention);
      add(hidden, mlp(spec().mlp, p.mlp, normalised(p.mlp_norm, hidden), workers_), p.after_mlp);
    } else {
      const Matrix<Real> input = normalised(p.attention_norm, hidden);
      const Matrix<Real> mixed = mlp(spec().mlp, p.mlp, spec().residual == Residual::parallel ? normalised(p.mlp_norm, hidden) : input, workers_);
      add(hidden, attention(layer, rows, input), {});
      add(hidden, mixed, {});
    }
  }

  Matrix<Real> normalised(const std::optional<NormFactors<Real>>& norm, const Matrix<Real>& x) const {
    return norm ? normalise(spec().norm, *norm, x) : x;
  }

  // What a branch gives, normalised and scaled where the model does so, onto the hidden states.
  void add(Matrix<Real>& hidden, const Matrix<Real>& branch, const std::optional<NormFactors<Real>>& after) const {
    if (spec().residual_scale) hidden += normalised(after, branch) * static_cast<Real>(*spec().residual_scale);
    else hidden += normalised(after, branch);
  }

  Matrix<Real> attention(int layer, std::span<const Row> rows, const Matrix<Real>& x) {  // [tokens, hidden] -> [tokens, hidden]
    const LayerParameters<Real>& p = parameters_->layers[static_cast<std::size_t>(layer)];
    const LayerView& view = views_[static_cast<std::size_t>(layer)];
    Matrix<Real> q = multiply(x, p.q, workers_);  // [tokens, heads * head_dim]
    Matrix<Real> k = multiply(x, p.k, workers_);  // [tokens, kv_heads * head_dim]
    const Matrix<Real> v = multiply(x, p.v, workers_);
    for (Eigen::Index token = 0; token < x.rows(); ++token) {
      const Row& row = rows[static_cast<std::size_t>(token)];
      if (spec().attention.qk_norm == QkNorm::all_heads) {
        normalise_all_heads(q.data() + token * q.cols(), p.q_norm);
        normalise_all_heads(k.data() + token * k.cols(), p.k_norm);
      }
      prepare_heads(q.data() + token * q.cols(), spec().attention.heads, p.q_norm, view, row.position);
      prepare_heads(k.data() + token * k.cols(), spec().attention.kv_heads, p.k_norm, view, row.position);
      std::copy_n(k.data() + token * k.cols(), kv_width_, place(keys_, layer, row.sequence, row.position));
      std::copy_n(v.data() + token * v.cols(), kv_width_, place(values_, layer, row.sequence, row.position));
    }
    const int heads = spec().attention.heads;
    Matrix<Real> out(x.rows(), q.cols());
    workers_.run(static_cast<int>(x.rows()) * heads, [&](int i) { attend_head(layer, rows[static_cast<std::size_t>(i / heads)], i % heads, q, i / heads, out); });
    return multiply(out, p.output, workers_);
  }

  void normalise_all_heads(Real* of_token, const Vector<Real>& norm) const {
    Eigen::Map<Vector<Real>> values(of_token, norm.size());
    values = rms_norm<Real>(values, norm, std::get<RmsNorm>(spec().norm).epsilon);
  }

  // QK-norm and RoPE, on every head of one token.
  void prepare_heads(Real* heads_of_token, int heads, const Vector<Real>& norm, const LayerView& view, int position) const {
    const int head_dim = spec().attention.head_dim;
    for (int head = 0; head < heads; ++head) {
      Eigen::Map<Vector<Real>> values(heads_of_token + head * head_dim, head_dim);
      if (spec().attention.qk_norm == QkNorm::each_head) values = rms_norm<Real>(values, norm, std::get<RmsNorm>(spec().norm).epsilon);
      if (!view.frequencies.empty()) rotate(values.data(), view.frequencies, position, view.stretch);
    }
  }

  void attend_head(int layer, const Row& row, int head, const Matrix<Real>& q, Eigen::Index token, Matrix<Real>& out) const {
    const Attention& a = spec().attention;
    const LayerView& view = views_[static_cast<std::size_t>(layer)];
    const int first = view.window ? (std::max)(0, row.position + 1 - *view.window) : 0;
    const int offset = head / (a.heads / a.kv_heads) * a.head_dim;  // of the KV head that serves this query head
    const auto vectors = [&](const std::unique_ptr<Real[]>& cache) {
      return [&, first](int i) { return ConstRow<Real>(place(cache, layer, row.sequence, first + i) + offset, a.head_dim); };
    };
    const Vector<Real> query = ConstRow<Real>(q.data() + token * q.cols() + head * a.head_dim, a.head_dim);
    const AttentionNumbers numbers{a.scale.value_or(1 / std::sqrt(static_cast<double>(a.head_dim))), a.soft_cap};
    out.row(token).segment(head * a.head_dim, a.head_dim) =
        attend(query, row.position + 1 - first, numbers, vectors(keys_), vectors(values_)).transpose();
  }

  // Step 5, for the rows that ask.
  Logits head(std::span<const Row> rows, const Matrix<Real>& hidden) {
    const auto asked = std::count_if(rows.begin(), rows.end(), [](const Row& row) { return row.logits; });
    Matrix<Real> last(asked, spec().hidden);
    Eigen::Index next = 0;
    for (Eigen::Index token = 0; token < hidden.rows(); ++token)
      if (rows[static_cast<std::size_t>(token)].logits) last.row(next++) = hidden.row(token);
    const Matrix<Real> normal = normalise(spec().norm, parameters_->final_norm, last);
    const Matrix<Real>& weight = parameters_->head.size() > 0 ? parameters_->head : parameters_->embedding;
    Matrix<Real> logits = multiply(normal, weight, parameters_->head_bias, workers_);  // [asked, vocab]
    if (spec().logit_divisor) logits /= static_cast<Real>(*spec().logit_divisor);
    if (spec().logit_soft_cap) {
      const Real cap = static_cast<Real>(*spec().logit_soft_cap);
      for (Eigen::Index i = 0; i < logits.size(); ++i) logits.data()[i] = cap * std::tanh(logits.data()[i] / cap);
    }
    logits_.assign(logits.data(), logits.data() + logits.size());
    return {logits_, spec().vocab};
  }

  // Where the cache holds a position of a layer: [kv_heads * head_dim].
  Real* place(const std::unique_ptr<Real[]>& cache, int layer, int sequence, int position) const {
    const std::size_t slot = table_.slot(sequence, position) + static_cast<std::size_t>(layer) * static_cast<std::size_t>(table_.capacity());
    return cache.get() + slot * static_cast<std::size_t>(kv_width_);
  }

  std::size_t layer_bytes() const { return static_cast<std::size_t>(BlockTable::block_tokens * kv_width_) * sizeof(Real); }
  // A block's keys (i even) or values of layer i / 2.
  Real* block_of(int i, int block) const {
    const std::size_t slot = static_cast<std::size_t>(i / 2) * static_cast<std::size_t>(table_.capacity()) + static_cast<std::size_t>(block * BlockTable::block_tokens);
    return (i % 2 == 0 ? keys_ : values_).get() + slot * static_cast<std::size_t>(kv_width_);
  }

  std::shared_ptr<const Parameters<Real>> parameters_;
  BlockTable table_;
  Workers workers_;
  int kv_width_;
  std::unique_ptr<Real[]> keys_, values_;  // [layers, slots, kv_heads * head_dim]
  std::vector<LayerView> views_;
  std::vector<float> logits_;
};

// For <diecast/compiled_reference.hpp>, which says that these are compiled elsewhere: hence they are not inline.
template <class Real>
std::shared_ptr<const Parameters<Real>> make_parameters(const Spec& spec, const Weights& weights, int threads) {
  return std::make_shared<const Parameters<Real>>(spec, weights, threads);
}
template <class Real>
std::unique_ptr<Context> open_context(std::shared_ptr<const Parameters<Real>> parameters, int tokens) {
  return std::make_unique<ReferenceContext<Real>>(std::move(parameters), tokens);
}

}  // namespace diecast::reference::inline DIECAST_ISA

namespace diecast::inline DIECAST_ISA {

template <class Real>
class Reference final : public Backend {
 public:
  Reference(const Spec& spec, const Weights& weights, int threads = 1)
      : parameters_(reference::make_parameters<Real>(spec, weights, threads)) {}

  std::string_view name() const override { return sizeof(Real) == sizeof(float) ? "reference" : "reference-double"; }
  const Spec& spec() const override { return parameters_->spec; }
  std::unique_ptr<Context> open(int tokens) const override { return reference::open_context<Real>(parameters_, tokens); }

 private:
  std::shared_ptr<const reference::Parameters<Real>> parameters_;
};

}  // namespace diecast::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
