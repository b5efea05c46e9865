// The kernels of a device on this model's own weights, one stage at a time, against the definition in double. A stage is given what the stages before it left in
// the device's memory, so an error belongs to the stage in whose line it stands. What is compared carries its bound along: what rounding, the 8 bits of
// activations before weights of integers, and the cache's elements may change.
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include <diecast/backend/layer_view.hpp>

#include "bounded.hpp"

namespace diecast::shell {

namespace {

using kernels::Place;
using kernels::Stage;

class StageCheck {
 public:
  StageCheck(const Model& model, const reference::Parameters<double>& exact, cuda::OnDevice& device, std::string_view name)
      : spec_(model.spec), weights_(model.weights), exact_(exact), device_(device), name_(name) {}

  std::vector<Line> run(std::span<const Row> rows) {
    rows_.assign(rows.begin(), rows.end());
    device_.begin(rows);
    embed();
    for (int layer = 0; layer < spec_.layers; ++layer)
      for (const Stage stage : device_.layer_stages()) one_stage(stage, layer);
    head();
    return std::move(lines_);
  }

 private:
  void one_stage(Stage stage, int layer) {
    const auto& p = exact_.layers[static_cast<std::size_t>(layer)];
    const LayerWeights& w = weights_.layers[static_cast<std::size_t>(layer)];
    const bool adds = p.after_attention.has_value() || p.after_mlp.has_value();
    switch (stage) {
      case Stage::qkv:
      case Stage::project:
        return qkv(stage, layer, p, w, adds);
      case Stage::norm_rope:
        return norm_rope(layer, p);
      case Stage::attention:
        return attention(layer);
      case Stage::output:
        return branch(Stage::output, layer, Place::attended, {p.output, w.output.weight.format}, adds);
      case Stage::gate_up:
        return gate_up(layer, p, w, adds);
      case Stage::down:
        return branch(Stage::down, layer, Place::inner, {p.mlp.down, w.down.weight.format}, adds);
      default:
        return;
    }
  }

  void embed() {
    device_.run(Stage::embed, 0);
    const std::vector<float> got = device_.read(Place::hidden);
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      Vector<double> want = exact_.embedding.row(rows_[row].id).transpose() * spec_.embedding_scale.value_or(1.0), size = want.cwiseAbs();
      if (exact_.position.size() > 0) {
        want += exact_.position.row(rows_[row].position).transpose();
        size += exact_.position.row(rows_[row].position).cwiseAbs().transpose();
      }
      compare("embedding", got, row, {want, gamma(3) * size});
    }
  }

  // Q and, from the cache, K and V; where heads are normalised what comes before that.
  void qkv(Stage stage, int layer, const reference::LayerParameters<double>& p, const LayerWeights& w, bool adds) {
    std::vector<Bounded> sums;
    for (std::size_t row = 0; row < rows_.size(); ++row)
      sums.push_back(stream(Place::hidden, row, adds && layer > 0 ? &exact_.layers[static_cast<std::size_t>(layer) - 1].after_mlp : nullptr));
    device_.run(stage, layer);
    if (adds) compare_all("q, k, v", Place::other_hidden, sums);
    const std::vector<float> projected = device_.read(Place::projected);
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const Bounded x = normalised(p.attention_norm, sums[row]);
      Bounded q = product(x, p.q, w.q.weight.format), k = product(x, p.k, w.k.weight.format);
      const Bounded v = product(x, p.v, w.v.weight.format);
      if (stage == Stage::project) {
        compare("q, k, v", projected, row, joined(joined(q, k), v));
        continue;
      }
      turn(q, view_of(spec_, layer), spec_.attention.head_dim, rows_[row].position);
      turn(k, view_of(spec_, layer), spec_.attention.head_dim, rows_[row].position);
      compare("q, k, v", device_.read(Place::queries), row, q);
      compare_cached("q, k, v", layer, row, k, v);
    }
  }

  void norm_rope(int layer, const reference::LayerParameters<double>& p) {
    const std::vector<float> projected = device_.read(Place::projected);
    device_.run(Stage::norm_rope, layer);
    const Eigen::Index d = spec_.attention.head_dim, queries = spec_.attention.heads * d, kv = spec_.attention.kv_heads * d;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const Bounded all = row_of(projected, row);
      const auto part = [&](Eigen::Index from, Eigen::Index count) { return Bounded{all.value.segment(from, count), all.error.segment(from, count)}; };
      Bounded q = part(0, queries), k = part(queries, kv);
      normalise_heads(q, p.q_norm, std::get<RmsNorm>(spec_.norm).epsilon);
      normalise_heads(k, p.k_norm, std::get<RmsNorm>(spec_.norm).epsilon);
      turn(q, view_of(spec_, layer), spec_.attention.head_dim, rows_[row].position);
      turn(k, view_of(spec_, layer), spec_.attention.head_dim, rows_[row].position);
      compare("norms of heads", device_.read(Place::queries), row, q);
      compare_cached("norms of heads", layer, row, k, part(queries + kv, kv));
    }
  }

  void attention(int layer) {
    device_.run(Stage::attention, layer);
    const std::vector<float> queries = device_.read(Place::queries), got = device_.read(Place::attended);
    const Attention& a = spec_.attention;
    const LayerView view = view_of(spec_, layer);
    const Eigen::Index d = a.head_dim, kv = a.kv_heads * d;
    const reference::AttentionNumbers numbers{a.scale.value_or(1 / std::sqrt(static_cast<double>(d))), a.soft_cap};
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const int positions = rows_[row].position + 1, first = view.window ? (std::max)(0, positions - *view.window) : 0;
      const std::vector<float> keys = device_.cached(layer, true, rows_[row].sequence, positions), values = device_.cached(layer, false, rows_[row].sequence, positions);
      const Bounded q = row_of(queries, row);
      Bounded out{Vector<double>(q.value.size()), Vector<double>(q.value.size())};
      for (int head = 0; head < a.heads; ++head) {
        const auto vectors = [&](const std::vector<float>& of) {
          return [&of, first, kv, d, offset = head / (a.heads / a.kv_heads) * d](int i) -> Vector<double> {
            return Eigen::Map<const Vector<float>>(of.data() + (first + i) * kv + offset, d).cast<double>();
          };
        };
        const Vector<double> query = q.value.segment(head * d, d);
        out.value.segment(head * d, d) = reference::attend<double>(query, positions - first, numbers, vectors(keys), vectors(values));
        // A score that is off by e changes its weight by a factor within exp(+-2e): once itself, once through the sum.
        double score = 0, value = 0;
        for (int i = 0; i < positions - first; ++i) {
          score = (std::max)(score, query.cwiseAbs().dot(vectors(keys)(i).cwiseAbs()) * numbers.scale);
          value = (std::max)(value, vectors(values)(i).cwiseAbs().maxCoeff());
        }
        const double off = (gamma(static_cast<double>(d) + 12) + (a.soft_cap ? exponential : 0)) * score;
        out.error.segment(head * d, d).setConstant((std::expm1(2 * off) + gamma(2.0 * positions + 8) + 2 * exponential) * value);
      }
      compare("attention", got, row, out);
    }
  }

  struct Matrix {
    const Linear<double>& weights;
    Format format;
  };
  // Attention's output or the MLP's: onto the hidden states, or left for whoever reads them.
  void branch(Stage stage, int layer, Place in, const Matrix& matrix, bool leaves) {
    const std::vector<float> x = device_.read(in), before = device_.read(Place::hidden);
    device_.run(stage, layer);
    const std::vector<float> got = device_.read(leaves ? Place::branch : Place::hidden);
    const double scale = spec_.residual_scale.value_or(1.0);
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      Bounded y = product(row_of(x, row), matrix.weights, matrix.format);
      if (!leaves) {
        y.value = row_of(before, row).value + scale * y.value;
        y.error = scale * y.error + gamma(2) * y.value.cwiseAbs();
      }
      compare(stage == Stage::output ? "output" : "down", got, row, y);
    }
  }

  void gate_up(int layer, const reference::LayerParameters<double>& p, const LayerWeights& w, bool adds) {
    const bool shared = spec_.residual == Residual::parallel_shared_norm;
    std::vector<Bounded> sums;
    for (std::size_t row = 0; row < rows_.size(); ++row) sums.push_back(stream(adds ? Place::other_hidden : Place::hidden, row, adds ? &p.after_attention : nullptr));
    device_.run(Stage::gate_up, layer);
    if (adds) compare_all("gate, up", Place::hidden, sums);
    const std::vector<float> got = device_.read(Place::inner);
    const Activation activation = std::visit([](const auto& mlp) { return mlp.activation; }, spec_.mlp);
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const Bounded x = normalised(shared ? p.attention_norm : p.mlp_norm, sums[row]), up = product(x, p.mlp.up, w.up.weight.format);
      if (!p.mlp.gate) {
        compare("gate, up", got, row, activated(activation, up));
        continue;
      }
      const Bounded gate = activated(activation, product(x, *p.mlp.gate, w.gate->weight.format));
      const Vector<double> value = gate.value.cwiseProduct(up.value);
      compare("gate, up", got, row,
              {value, gate.error.cwiseProduct(up.value.cwiseAbs() + up.error) + gate.value.cwiseAbs().cwiseProduct(up.error) + gamma(2) * value.cwiseAbs()});
    }
  }

  void head() {
    const std::optional<NormFactors<double>>* after = nullptr;
    if (!exact_.layers.empty() && exact_.layers.back().after_mlp) after = &exact_.layers.back().after_mlp;
    std::vector<Bounded> sums;
    for (std::size_t row = 0; row < rows_.size(); ++row) sums.push_back(stream(Place::hidden, row, after));
    device_.run(Stage::head, 0);
    const std::vector<float> got = device_.read(Place::logits);
    const bool own = exact_.head.size() > 0;
    const Format format = own ? weights_.head->format : weights_.embedding.format;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const Bounded x = normalised(exact_.final_norm, sums[row]);
      Bounded y = product(x, own ? exact_.head : exact_.embedding, exact_.head_bias, format);
      const double divisor = spec_.logit_divisor.value_or(1.0);
      y.value /= divisor;
      y.error = y.error / divisor + gamma(2) * y.value.cwiseAbs();
      if (spec_.logit_soft_cap) {
        const double cap = *spec_.logit_soft_cap;
        y.value = cap * (y.value / cap).array().tanh().matrix();
        y.error += (gamma(3) + exponential) * y.value.cwiseAbs();
      }
      compare("head", got, row, y);
    }
  }

  // The hidden states as a stage's prologue takes them: with the branch before added where models normalise what a branch gives (null: nothing is added).
  Bounded stream(Place place, std::size_t row, const std::optional<NormFactors<double>>* after) const {
    Bounded hidden = row_of(device_.read(place), row);
    if (after == nullptr) return hidden;
    const Bounded branch = normalised(*after, row_of(device_.read(Place::branch), row));
    const double scale = spec_.residual_scale.value_or(1.0);
    hidden.value += scale * branch.value;
    hidden.error = scale * branch.error + gamma(2) * hidden.value.cwiseAbs();
    return hidden;
  }

  Bounded normalised(const std::optional<NormFactors<double>>& norm, const Bounded& x) const { return norm ? shell::normalised(spec_.norm, *norm, x) : x; }
  Bounded row_of(const std::vector<float>& all, std::size_t row) const {
    const auto width = static_cast<Eigen::Index>(all.size() / rows_.size());
    return {Eigen::Map<const Vector<float>>(all.data() + static_cast<Eigen::Index>(row) * width, width).cast<double>(), Vector<double>::Zero(width)};
  }

  void compare_all(std::string_view operation, Place place, const std::vector<Bounded>& want) {
    const std::vector<float> got = device_.read(place);
    for (std::size_t row = 0; row < rows_.size(); ++row) compare(operation, got, row, want[row]);
  }
  void compare_cached(std::string_view operation, int layer, std::size_t row, Bounded k, Bounded v) {
    for (Bounded* of : {&k, &v}) {
      of->error += device_.cache_rounding() * (of->value.cwiseAbs() + of->error);
      of->error.array() += 0x1p-24;  // a half's smallest step
      const std::vector<float> all = device_.cached(layer, of == &k, rows_[row].sequence, rows_[row].position + 1);
      const std::vector<float> last(all.end() - of->value.size(), all.end());
      compare(operation, last, 0, *of);
    }
  }
  void compare(std::string_view operation, const std::vector<float>& got, std::size_t row, const Bounded& want) {
    const std::string name = fmt::format("{}: {}", name_, operation);
    auto line = std::find_if(lines_.begin(), lines_.end(), [&](const Line& one) { return one.operation == name; });
    if (line == lines_.end()) line = lines_.insert(lines_.end(), Line{.operation = name});
    const auto width = static_cast<std::size_t>(want.value.size());
    if (got.size() < (row + 1) * width) throw Error(fmt::format("the device has {} numbers where {} rows of {} belong", got.size(), row + 1, width), Blame::program);
    for (std::size_t i = 0; i < width; ++i) {
      const auto at = static_cast<Eigen::Index>(i);
      line->add(std::abs(static_cast<double>(got[row * width + i]) - want.value[at]), want.error[at]);
    }
    ++line->count;
  }

  const Spec& spec_;
  const Weights& weights_;
  const reference::Parameters<double>& exact_;
  cuda::OnDevice& device_;
  std::string name_;
  std::vector<Row> rows_;
  std::vector<Line> lines_;
};

}  // namespace

std::vector<Line> check_stages(const Model& model, const reference::Parameters<double>& exact, const cuda::DeviceBackend& backend) {
  const int before = std::min(20, model.spec.context - 2);  // so that attention has something to see
  const auto device = backend.open_on_device(before + 2);
  const int sequence = device->table().add();
  std::vector<Row> rows;
  for (int i = 0; i < before + 2; ++i) rows.push_back({static_cast<int>((i * 7919LL + 11) % model.spec.vocab), i, sequence, i >= before});
  const auto split = std::span<const Row>(rows);
  device->forward(split.first(static_cast<std::size_t>(before)));
  return StageCheck(model, exact, *device, backend.name()).run(split.subspan(static_cast<std::size_t>(before)));
}

}  // namespace diecast::shell
