// Steps 3-5 on the CPU. All threads walk through the whole pass together and meet where one needs what another has made: after Q, K and V,
// after RoPE, after attention, after the output product, after gate and up, after down. For one or two rows each thread normalises and
// quantises for itself, since that is less work than a meeting; for more they share the rows.
// Every number is computed by one thread in one order, so the result depends on no batch, chunk or number of threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <diecast/backend/backend.hpp>
#include <diecast/backend/layer_view.hpp>
#include <diecast/cpu/ahead.hpp>
#include <diecast/cpu/attention.hpp>
#include <diecast/cpu/cache.hpp>
#include <diecast/cpu/math.hpp>
#include <diecast/cpu/norm.hpp>
#include <diecast/cpu/options.hpp>
#include <diecast/cpu/parts.hpp>
#include <diecast/cpu/product.hpp>
#include <diecast/cpu/rope.hpp>
#include <diecast/cpu/shape.hpp>
#include <diecast/cpu/team.hpp>
#include <diecast/cpu/work_buffers.hpp>
#include <diecast/trace/trace.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::cpu::inline DIECAST_ISA {

template <Shape shape>
class CpuContext final : public Context {
 public:
  CpuContext(std::shared_ptr<const PackedModel> model, int tokens, const Options& options)
      : model_(std::move(model)), table_(tokens), cache_(spec(), table_.capacity(), options.cache), team_(options.threads), integers_(model_->integers()), precision_(options.precision) {
    for (int layer = 0; layer < spec().layers; ++layer) views_.push_back(view_of(spec(), layer));
    const Attention& a = spec().attention;
    numbers_ = {static_cast<float>(a.scale.value_or(1 / std::sqrt(static_cast<double>(a.head_dim)))), {}};
    if (a.soft_cap) numbers_.soft_cap = static_cast<float>(*a.soft_cap);
    for (const LayerView& view : views_) turn_values_ = (std::max)(turn_values_, 2 * static_cast<int>(view.frequencies.size()));
    for (int thread = 0; thread < options.threads; ++thread) {
      threads_.push_back(std::make_unique<Thread>(reading_order(thread)));
      make_room(*threads_.back(), few_rows);
    }
  }

  BlockTable& table() override { return table_; }

  Logits forward(std::span<const Row> rows, Trace* trace = nullptr) override {
    check_rows(spec(), table_, rows);
    for (const Row& row : rows) table_.append(row.sequence);
    const auto asked = static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), [](const Row& row) { return row.logits; }));
    logits_.resize(asked * static_cast<std::size_t>(spec().vocab));
    std::size_t done = 0;
    for (std::size_t first = 0; first < rows.size(); first += most_rows) {
      const auto slice = rows.subspan(first, (std::min)(most_rows, rows.size() - first));
      done += run(slice, logits_.data() + done * static_cast<std::size_t>(spec().vocab), trace);
    }
    return {logits_, spec().vocab};
  }

  std::size_t block_bytes() const override { return cache_.block_bytes(); }
  void read_block(int block, std::span<std::byte> to) const override { cache_.read_block(static_cast<std::size_t>(block), to.data()); }
  void write_block(int block, std::span<const std::byte> from) override { cache_.write_block(static_cast<std::size_t>(block), from.data()); }
  std::string block_layout() const override {
    return "cpu, " + std::string(cache_type_name(cache_.type())) + ", " + (integers_ ? std::string(precision_name(precision_)) : "float");
  }

 private:
  static constexpr std::size_t most_rows = 256;  // that go through the layers together: bounds the memory
  static constexpr int few_rows = 2;
  static constexpr int most_queries = 48;        // that share one reading of the cache

  // What a thread has for itself.
  struct Thread {
    explicit Thread(std::vector<Segment> segments) : order(std::move(segments)), ahead(order) {}
    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;
    std::vector<Segment> order;
    Ahead ahead;
    Rows hidden, turns;
    ActivationRows x, attended, inner;
    std::vector<float> scores, outs;
    std::vector<Query> queries;
    std::vector<Partial> states, parts;
  };
  // Consecutive rows of one sequence.
  struct RowTile {
    int first, count;
  };

  const Spec& spec() const { return model_->spec; }
  int heads() const { return spec().attention.heads; }
  int kv_heads() const { return spec().attention.kv_heads; }
  int head_dim() const { return shape.head_dim == 0 ? spec().attention.head_dim : shape.head_dim; }
  int threads() const { return team_.size(); }

  std::pair<int, int> share(int count, int thread) const {
    return {static_cast<int>(static_cast<long>(count) * thread / threads()), static_cast<int>(static_cast<long>(count) * (thread + 1) / threads())};
  }

  std::vector<Segment> reading_order(int thread) const {
    std::vector<Segment> order;
    const auto add = [&](const PackedMatrix& matrix) {
      if (matrix.rows == 0) return;
      const auto [first, last] = share(matrix.panels(), thread);
      const std::size_t size = matrix.panel_bytes();
      if (last > first) order.push_back({matrix.data + static_cast<std::size_t>(first) * size, static_cast<std::size_t>(last - first) * size});
    };
    for (const LayerParts& layer : model_->parts.layers)
      for (const LinearPart* part : {&layer.q, &layer.k, &layer.v, &layer.output, &layer.gate, &layer.up, &layer.down}) add(part->matrix);
    add(model_->parts.head.matrix);
    return order;
  }

  void make_room(Thread& of, int rows) const {
    of.hidden = Rows(rows, spec().hidden);
    of.turns = Rows(rows, 2 * turn_values_);
    of.x = ActivationRows(rows, spec().hidden);
    of.attended = ActivationRows(rows, heads() * head_dim());
    of.inner = ActivationRows(rows, mlp_width(spec()));
  }
  // Buffers for this many rows; those that there are stay.
  void make_room(int rows) {
    const int q_width = heads() * head_dim(), kv_width = kv_heads() * head_dim(), width = mlp_width(spec());
    if (rows > rows_) {
      rows_ = rows;
      q_ = Rows(rows, q_width);
      k_ = Rows(rows, kv_width);
      v_ = Rows(rows, kv_width);
      from_attention_ = Rows(rows, spec().hidden);
      from_mlp_ = Rows(rows, spec().hidden);
      gate_ = Rows(rows, width);
      up_ = Rows(rows, width);
      if (rows > few_rows) make_room(shared_, rows);
    }
  }

  // All layers for these rows; returns how many rows of logits it wrote.
  std::size_t run(std::span<const Row> rows, float* logits, Trace* trace) {
    const auto count = static_cast<int>(rows.size());
    make_room(count);
    tile_rows(rows);
    std::vector<int> asked;
    for (int i = 0; i < count; ++i)
      if (rows[static_cast<std::size_t>(i)].logits) asked.push_back(i);
    const Pass pass{*this, rows, asked, logits, count <= few_rows || threads() == 1};
    team_.run([&](int thread) {
      Thread& own = *threads_[static_cast<std::size_t>(thread)];
      Walk(pass, count <= few_rows ? own : shared_, own, thread, thread == 0 ? trace : nullptr).run();
    });
    return asked.size();
  }

  void tile_rows(std::span<const Row> rows) {
    tiles_.clear();
    const int longest = std::max_element(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.position < b.position; })->position + 1;
    split_ = threads() > 1 && rows.size() <= 4 && longest > chunk_positions;
    if (split_) {
      chunks_ = static_cast<std::size_t>((longest + chunk_positions - 1) / chunk_positions);
      partials_.assign(rows.size() * static_cast<std::size_t>(heads()) * chunks_, {});
      partial_outs_.resize((std::max)(partial_outs_.size(), partials_.size() * cache_.width()));
      for (std::size_t i = 0; i < partials_.size(); ++i) partials_[i].out = partial_outs_.data() + i * cache_.width();
    }
    const int most = split_ ? 1 : (std::max)(1, most_queries / (heads() / kv_heads()));
    for (int i = 0; i < static_cast<int>(rows.size()); ++i) {
      const bool goes_on = !tiles_.empty() && tiles_.back().count < most && rows[static_cast<std::size_t>(i)].sequence == rows[static_cast<std::size_t>(i - 1)].sequence;
      if (goes_on) ++tiles_.back().count;
      else tiles_.push_back({i, 1});
    }
  }

  struct Pass {
    CpuContext& context;
    std::span<const Row> rows;
    const std::vector<int>& asked;
    float* logits;
    bool alone;  // each thread keeps all rows' hidden states for itself
  };

  // One thread's way through a pass.
  class Walk {
   public:
    Walk(const Pass& pass, Thread& buffers, Thread& own, int thread, Trace* trace)
        : pass_(pass), c_(pass.context), b_(buffers), own_(own), thread_(thread), trace_(trace), rows_(static_cast<int>(pass.rows.size())) {
      if (pass.alone) first_ = 0, last_ = rows_;
      else std::tie(first_, last_) = c_.share(rows_, thread);
    }

    void run() {
      own_.ahead.rewind();
      {
        const Trace::Scope span(trace_, "embed");
        for (int r = first_; r < last_; ++r) embed(r);
      }
      for (int layer = 0; layer < c_.spec().layers; ++layer) {
        const Trace::Scope span(trace_, "block", layer);
        block(layer);
      }
      const Trace::Scope span(trace_, "head");
      head();
    }

   private:
    const Spec& spec() const { return c_.spec(); }
    const LayerParts& parts(int layer) const { return c_.model_->parts.layers[static_cast<std::size_t>(layer)]; }
    const Row& row(int r) const { return pass_.rows[static_cast<std::size_t>(r)]; }
    void meet() { c_.team_.meet(); }
    void meet_if_shared() {
      if (!pass_.alone) meet();
    }

    // Step 3, and the angles that the row's position turns by.
    void embed(int r) {
      float* hidden = b_.hidden.row(r);
      const auto width = static_cast<std::size_t>(spec().hidden);
      unpack_row(c_.model_->parts.embedding, row(r).id, hidden);
      if (spec().embedding_scale) {
        const auto scale = static_cast<float>(*spec().embedding_scale);
        for (std::size_t i = 0; i < width; ++i) hidden[i] *= scale;
      }
      if (c_.model_->parts.position.rows > 0) {
        own_.outs.resize((std::max)(own_.outs.size(), width));
        unpack_row(c_.model_->parts.position, row(r).position, own_.outs.data());
        for (std::size_t i = 0; i < width; ++i) hidden[i] += own_.outs[i];
      }
      // Layers turn in two ways at most: those with a window, and those that see all.
      for (const bool windowed : {false, true})
        if (const LayerView* view = c_.some_view(windowed))
          turns(view->frequencies, view->stretch, row(r).position, b_.turns.row(r) + (windowed ? c_.turn_values_ : 0));
    }

    // Step 4.
    void block(int layer) {
      const LayerParts& p = parts(layer);
      const bool parallel = spec().residual != Residual::sequential;
      for (int r = first_; r < last_; ++r) {
        if (layer > 0) finish_layer(layer - 1, r);
        prepare(p.attention_norm, b_.hidden.row(r), r, at_least_balanced());
      }
      meet_if_shared();
      project(p.q, b_.x.view(at_least_balanced()), rows_, c_.q_);
      project(p.k, b_.x.view(at_least_balanced()), rows_, c_.k_);
      project(p.v, b_.x.view(at_least_balanced()), rows_, c_.v_);
      meet();
      turn_and_append(layer);
      meet();
      with_cache(c_.cache_.type(), [&]<CacheType type>() { attention<type>(layer); });
      meet();
      if (c_.split_) {
        for (int r = first_; r < last_; ++r) merge_row(layer, r);
      } else {
        for (int r = first_; r < last_; ++r) std::copy_n(c_.q_.row(r), c_.q_.stride, b_.attended.row(r));
      }
      quantise_rows(b_.attended, exact());
      meet_if_shared();
      project(p.output, b_.attended.view(exact()), rows_, c_.from_attention_);
      meet();
      for (int r = first_; r < last_; ++r) {
        if (!parallel) {
          add(b_.hidden.row(r), c_.from_attention_.row(r), p.after_attention);
          prepare(p.mlp_norm, b_.hidden.row(r), r, exact());
        } else if (spec().residual == Residual::parallel) {
          prepare(p.mlp_norm, b_.hidden.row(r), r, exact());
        }
      }
      meet_if_shared();
      mlp(p);
      meet();
      // What the MLP gives is added with the next layer's beginning, or the head's.
    }

    void finish_layer(int layer, int r) {
      const LayerParts& p = parts(layer);
      if (spec().residual != Residual::sequential) add(b_.hidden.row(r), c_.from_attention_.row(r), {});
      add(b_.hidden.row(r), c_.from_mlp_.row(r), p.after_mlp);
    }

    // hidden += what a branch gives, normalised and scaled where the model does so. The branch's row is left as it is.
    void add(float* hidden, const float* branch, const NormPart& after) {
      const int width = spec().hidden;
      if (after.weight) {
        own_.outs.resize((std::max)(own_.outs.size(), static_cast<std::size_t>(round_up(width, lanes))));
        normalise(after, branch, width, own_.outs.data());
        branch = own_.outs.data();
      }
      const Floats scale = broadcast(static_cast<float>(spec().residual_scale.value_or(1)));
      const bool scaled = spec().residual_scale.has_value();
      for (int i = 0; i < width; i += lanes) {
        const Floats b = load_tail(branch + i, width - i);
        store_tail(hidden + i, load_tail(hidden + i, width - i) + (scaled ? b * scale : b), width - i);
      }
    }

    void normalise(const NormPart& norm, const float* x, int width, float* y) const {
      if (const auto* rms = std::get_if<RmsNorm>(&spec().norm)) rms_norm(x, norm.weight, static_cast<float>(rms->epsilon), width, y);
      else layer_norm(x, norm.weight, norm.bias, static_cast<float>(std::get<LayerNorm>(spec().norm).epsilon), width, y);
    }

    bool exact() const { return c_.precision_ == Precision::exact; }
    bool at_least_balanced() const { return c_.precision_ != Precision::fast; }

    // A row of hidden states as the next products take it.
    void prepare(const NormPart& norm, const float* hidden, int r, bool wide) {
      if (norm.weight) normalise(norm, hidden, spec().hidden, b_.x.row(r));
      else std::copy_n(hidden, spec().hidden, b_.x.row(r));
      quantise_row(b_.x, r, wide);
    }
    void quantise_row(ActivationRows& x, int r, bool wide) const {
      const Activations view = x.view(wide);
      if (c_.integers_ && view.cols % block_columns == 0) quantise(view, r);
    }
    void quantise_rows(ActivationRows& x, bool wide) const {
      for (int r = first_; r < last_; ++r) quantise_row(x, r, wide);
    }

    // This thread's rows of W x + b. Widths that the compiler knows gain nothing here (bench/README.md), so that all matrices share a kernel.
    void project(const LinearPart& part, const Activations& x, int tokens, float* out, std::size_t stride) {
      const auto [first, last] = c_.share(part.matrix.panels(), thread_);
      with_format(part.matrix.format, [&, first = first, last = last]<Format format>() {
        if constexpr (shape.has(format)) product<format, run_time>(part.matrix, part.bias, x, tokens, first, last, {out, stride}, own_.ahead);
      });
    }
    void project(const LinearPart& part, const Activations& x, int tokens, Rows& out) {
      project(part, x, tokens, out.row(0), out.stride);
    }

    // QK-norm, RoPE, and K and V into the cache. Units are a row's heads; where all heads are normalised together, whole rows.
    void turn_and_append(int layer) {
      const LayerParts& p = parts(layer);
      const bool together = spec().attention.qk_norm == QkNorm::all_heads;
      const int heads = c_.heads(), all = heads + c_.kv_heads(), d = c_.head_dim();
      if (together) {
        const auto [first, last] = c_.share(rows_, thread_);
        const auto epsilon = static_cast<float>(std::get<RmsNorm>(spec().norm).epsilon);
        for (int r = first; r < last; ++r) {
          rms_norm(c_.q_.row(r), p.q_norm, epsilon, heads * d, c_.q_.row(r));
          rms_norm(c_.k_.row(r), p.k_norm, epsilon, c_.kv_heads() * d, c_.k_.row(r));
          for (int head = 0; head < all; ++head) turn_head(layer, r, head);
        }
        return;
      }
      const auto [first, last] = c_.share(rows_ * all, thread_);
      for (int unit = first; unit < last; ++unit) turn_head(layer, unit / all, unit % all);
    }

    void turn_head(int layer, int r, int head) {
      const LayerParts& p = parts(layer);
      const LayerView& view = c_.views_[static_cast<std::size_t>(layer)];
      const int d = c_.head_dim(), heads = c_.heads();
      const bool is_key = head >= heads;
      float* values = is_key ? c_.k_.row(r) + (head - heads) * d : c_.q_.row(r) + head * d;
      if (spec().attention.qk_norm == QkNorm::each_head)
        rms_norm(values, is_key ? p.k_norm : p.q_norm, static_cast<float>(std::get<RmsNorm>(spec().norm).epsilon), d, values);
      if (!view.frequencies.empty()) rotate(values, b_.turns.row(r) + (view.window ? c_.turn_values_ : 0), static_cast<int>(view.frequencies.size()));
      if (!is_key) return;
      const std::size_t slot = c_.table_.slot(row(r).sequence, row(r).position);
      with_cache(c_.cache_.type(), [&]<CacheType type>() { c_.cache_.template append<type>(layer, head - heads, slot, values, c_.v_.row(r) + (head - heads) * d); });
    }

    Query query_of(int layer, int r, int head) const {
      const LayerView& view = c_.views_[static_cast<std::size_t>(layer)];
      const int end = row(r).position + 1;
      return {c_.q_.row(r) + head * c_.head_dim(), view.window ? (std::max)(0, end - *view.window) : 0, end};
    }

    template <CacheType type>
    void attention(int layer) {
      const int group = c_.heads() / c_.kv_heads();
      int unit = 0;
      for (const RowTile& tile : c_.tiles_) {
        const auto count = static_cast<std::size_t>(tile.count * group);
        const int last_chunk = (row(tile.first + tile.count - 1).position) / chunk_positions;
        const int first_chunk = query_of(layer, tile.first, 0).first / chunk_positions;
        for (int kv = 0; kv < c_.kv_heads(); ++kv) {
          if (!c_.split_ && unit++ % c_.threads() != thread_) continue;
          gather(layer, tile, kv, group);
          const auto block = [&](int i) { return c_.cache_.template block<type>(layer, kv, c_.table_.slot(row(tile.first).sequence, 16 * i) / 16); };
          own_.scores.resize((std::max)(own_.scores.size(), count * chunk_positions));
          for (int chunk = first_chunk; chunk <= last_chunk; ++chunk) {
            if (c_.split_ && unit++ % c_.threads() != thread_) continue;
            if (c_.split_)
              for (std::size_t q = 0; q < count; ++q) own_.parts[q].out = c_.partial(tile.first, kv * group + static_cast<int>(q), chunk).out;
            attend_chunk<type, shape.head_dim>(chunk, own_.queries.data(), count, c_.head_dim(), block, c_.numbers_, own_.scores.data(), own_.parts.data());
            for (std::size_t q = 0; q < count; ++q) {
              if (!sees(own_.queries[q], chunk)) continue;
              if (c_.split_) c_.partial(tile.first, kv * group + static_cast<int>(q), chunk) = own_.parts[q];
              else merge(own_.states[q], own_.parts[q], c_.cache_.width());
            }
          }
          if (!c_.split_)
            for (int i = 0; i < tile.count; ++i)
              for (int h = 0; h < group; ++h) put_out(own_.states[static_cast<std::size_t>(i * group + h)], c_.q_.row(tile.first + i) + (kv * group + h) * c_.head_dim());
        }
      }
    }

    void gather(int layer, const RowTile& tile, int kv, int group) {
      const auto count = static_cast<std::size_t>(tile.count * group);
      const std::size_t width = c_.cache_.width();
      own_.queries.resize(count);
      own_.states.assign(count, {});
      own_.parts.assign(count, {});
      own_.outs.assign((std::max)(own_.outs.size(), 2 * count * width), 0.0F);
      for (int i = 0; i < tile.count; ++i)
        for (int h = 0; h < group; ++h) {
          const auto q = static_cast<std::size_t>(i * group + h);
          own_.queries[q] = query_of(layer, tile.first + i, kv * group + h);
          own_.states[q].out = own_.outs.data() + q * width;
          own_.parts[q].out = own_.outs.data() + (count + q) * width;
        }
    }

    // The weighted mean takes the query's place: nobody needs that any more.
    void put_out(const Partial& state, float* to) const {
      const int d = c_.head_dim();
      const Floats total = broadcast(state.total);
      for (int i = 0; i < d; i += lanes) store_tail(to + i, load_tail(state.out + i, d - i) / total, d - i);
    }

    void merge_row(int layer, int r) {
      const std::size_t width = c_.cache_.width();
      for (int head = 0; head < c_.heads(); ++head) {
        const Query query = query_of(layer, r, head);
        own_.outs.assign((std::max)(own_.outs.size(), width), 0.0F);
        Partial state;
        state.out = own_.outs.data();
        for (int chunk = query.first / chunk_positions; chunk <= (query.last - 1) / chunk_positions; ++chunk) merge(state, c_.partial(r, head, chunk), width);
        put_out(state, b_.attended.row(r) + head * c_.head_dim());
      }
    }

    void mlp(const LayerParts& p) {
      const bool gated = p.gate.matrix.rows > 0;
      // With one norm for attention and MLP the rows are as attention has taken them.
      const bool wide = spec().residual == Residual::parallel_shared_norm ? at_least_balanced() : exact();
      if (gated) project(p.gate, b_.x.view(wide), rows_, c_.gate_);
      project(p.up, b_.x.view(wide), rows_, c_.up_);
      const auto [first, last] = c_.share(p.up.matrix.panels(), thread_);
      const Activation activation = std::visit([](const auto& part) { return part.activation; }, spec().mlp);
      const auto apply = [&, first = first, last = last]<Activation kind>() {
        for (int r = 0; r < rows_; ++r)
          for (int i = 16 * first; i < 16 * last; i += lanes) {
            float* up = c_.up_.row(r) + i;
            store(up, gated ? activate<kind>(load(c_.gate_.row(r) + i)) * load(up) : activate<kind>(load(up)));
          }
      };
      switch (activation) {
        case Activation::silu: apply.template operator()<Activation::silu>(); break;
        case Activation::gelu: apply.template operator()<Activation::gelu>(); break;
        case Activation::gelu_tanh: apply.template operator()<Activation::gelu_tanh>(); break;
        case Activation::relu: apply.template operator()<Activation::relu>(); break;
      }
      meet();
      for (int r = first_; r < last_; ++r) std::copy_n(c_.up_.row(r), c_.up_.stride, b_.inner.row(r));
      quantise_rows(b_.inner, at_least_balanced());
      meet_if_shared();
      project(p.down, b_.inner.view(at_least_balanced()), rows_, c_.from_mlp_);
    }

    // Step 5, for the rows that ask; they move together.
    void head() {
      const auto asked = static_cast<int>(pass_.asked.size());
      const auto [from, to] = pass_.alone ? std::pair(0, asked) : c_.share(asked, thread_);
      for (int i = from; i < to; ++i) {
        const int r = pass_.asked[static_cast<std::size_t>(i)];
        // Rows were shared in another way before: each is finished here, by whoever normalises it.
        finish_layer(spec().layers - 1, r);
        normalise(c_.model_->parts.final_norm, b_.hidden.row(r), spec().hidden, b_.x.row(i));
        quantise_row(b_.x, i, exact());
      }
      meet_if_shared();
      if (asked == 0) return;
      const auto vocab = static_cast<std::size_t>(spec().vocab);
      project(c_.model_->parts.head, b_.x.view(exact()), asked, pass_.logits, vocab);
      if (!spec().logit_divisor && !spec().logit_soft_cap) return;
      const auto [first, last] = c_.share(c_.model_->parts.head.matrix.panels(), thread_);
      const int end = (std::min)(16 * last, spec().vocab);
      for (int i = 0; i < asked; ++i)
        for (int at = 16 * first; at < end; at += lanes) {
          float* logits = pass_.logits + static_cast<std::size_t>(i) * vocab + at;
          Floats z = load_tail(logits, end - at);
          if (spec().logit_divisor) z = z / broadcast(static_cast<float>(*spec().logit_divisor));
          if (spec().logit_soft_cap) {
            const Floats cap = broadcast(static_cast<float>(*spec().logit_soft_cap));
            z = cap * tanh(z / cap);
          }
          store_tail(logits, z, end - at);
        }
    }

    const Pass& pass_;
    CpuContext& c_;
    Thread& b_;    // where the rows' hidden states and activations are: shared, or this thread's own
    Thread& own_;
    int thread_;
    Trace* trace_;
    int rows_, first_ = 0, last_ = 0;
  };

  const LayerView* some_view(bool windowed) const {
    for (const LayerView& view : views_)
      if (view.window.has_value() == windowed && !view.frequencies.empty()) return &view;
    return nullptr;
  }

  Partial& partial(int r, int head, int chunk) {
    return partials_[(static_cast<std::size_t>(r) * static_cast<std::size_t>(heads()) + static_cast<std::size_t>(head)) * chunks_ + static_cast<std::size_t>(chunk)];
  }

  std::shared_ptr<const PackedModel> model_;
  BlockTable table_;
  KvCache cache_;
  Team team_;
  bool integers_;
  Precision precision_;
  std::vector<LayerView> views_;
  AttentionNumbers numbers_{};
  std::vector<std::unique_ptr<Thread>> threads_;
  Thread shared_{std::vector<Segment>()};
  int rows_ = 0, turn_values_ = 0;
  Rows q_, k_, v_, from_attention_, from_mlp_, gate_, up_;
  std::vector<RowTile> tiles_;
  bool split_ = false;  // the chunks of a row's positions are shared among threads
  std::size_t chunks_ = 0;
  std::vector<Partial> partials_;  // [rows][heads][chunks]
  std::vector<float> partial_outs_;
  std::vector<float> logits_;
};

}  // namespace diecast::cpu::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
