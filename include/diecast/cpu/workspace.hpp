// What the threads of a forward pass share: the model, the cache, buffers for the rows, and what each thread has for itself.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <diecast/backend/block_table.hpp>
#include <diecast/backend/layer_view.hpp>
#include <diecast/backend/rows.hpp>
#include <diecast/cpu/ahead.hpp>
#include <diecast/cpu/attention.hpp>
#include <diecast/cpu/best_rows.hpp>
#include <diecast/cpu/cache.hpp>
#include <diecast/cpu/options.hpp>
#include <diecast/cpu/parts.hpp>
#include <diecast/cpu/shape.hpp>
#include <diecast/cpu/team.hpp>
#include <diecast/cpu/work_buffers.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::cpu::inline DIECAST_ISA {

inline constexpr int few_rows = 2;       // up to these each thread keeps the rows' hidden states for itself
inline constexpr int most_queries = 48;  // that share one reading of the cache

// What a thread has for itself.
struct ThreadBuffers {
  explicit ThreadBuffers(std::vector<Segment> segments) : order(std::move(segments)), ahead(order) {}
  ThreadBuffers(const ThreadBuffers&) = delete;
  ThreadBuffers& operator=(const ThreadBuffers&) = delete;
  std::vector<Segment> order;
  Ahead ahead;
  Rows hidden, turns;
  ActivationRows x, attended, inner;
  std::vector<float> scores, outs;
  std::vector<Query> queries;
  std::vector<Partial> states, parts;
  std::vector<BestRows> best;        // of each row that asks
  std::vector<float> high, bounds;   // [row][panels of the share][16] of a screened head
  ActivationRows norms;              // of the blocks of the rows that ask
};
// Consecutive rows of one sequence.
struct RowTile {
  int first, count;
};

template <Shape shape>
struct Workspace {
  Workspace(std::shared_ptr<const PackedModel> of, int tokens, const Options& options)
      : model(std::move(of)), table(tokens), cache(model->spec, table.capacity(), options.cache), team(options.threads), integers(model->integers()),
        precision(options.precision), screens(shape.screen && options.screen && model->parts.screen) {
    for (int layer = 0; layer < spec().layers; ++layer) views.push_back(view_of(spec(), layer));
    const Attention& a = spec().attention;
    numbers = {static_cast<float>(a.scale.value_or(1 / std::sqrt(static_cast<double>(a.head_dim)))), {}};
    if (a.soft_cap) numbers.soft_cap = static_cast<float>(*a.soft_cap);
    for (const LayerView& view : views) turn_values = (std::max)(turn_values, 2 * static_cast<int>(view.frequencies.size()));
    for (int thread = 0; thread < options.threads; ++thread) {
      threads.push_back(std::make_unique<ThreadBuffers>(reading_order(thread)));
      make_room(*threads.back(), few_rows);
    }
  }

  const Spec& spec() const { return model->spec; }
  int heads() const { return spec().attention.heads; }
  int kv_heads() const { return spec().attention.kv_heads; }
  int head_dim() const { return shape.head_dim == 0 ? spec().attention.head_dim : shape.head_dim; }
  int thread_count() const { return team.size(); }

  std::pair<int, int> share(int count, int thread) const {
    return {static_cast<int>(static_cast<long>(count) * thread / thread_count()), static_cast<int>(static_cast<long>(count) * (thread + 1) / thread_count())};
  }

  std::vector<Segment> reading_order(int thread) const {
    std::vector<Segment> order;
    const auto add = [&](const PackedMatrix& matrix) {
      if (matrix.rows == 0) return;
      const auto [first, last] = share(matrix.panels(), thread);
      const std::size_t size = matrix.panel_bytes();
      if (last > first) order.push_back({matrix.data + static_cast<std::size_t>(first) * size, static_cast<std::size_t>(last - first) * size});
    };
    for (const LayerParts& layer : model->parts.layers)
      for (const LinearPart* part : {&layer.q, &layer.k, &layer.v, &layer.output, &layer.gate, &layer.up, &layer.down}) add(part->matrix);
    if (screens) {
      add(model->parts.screen.high);
      add(model->parts.screen.norms);
    } else {
      add(model->parts.head.matrix);
    }
    return order;
  }

  void make_room(ThreadBuffers& of, int rows) const {
    of.hidden = Rows(rows, spec().hidden);
    of.turns = Rows(rows, 2 * turn_values);
    of.x = ActivationRows(rows, spec().hidden);
    of.attended = ActivationRows(rows, heads() * head_dim());
    of.inner = ActivationRows(rows, mlp_width(spec()));
  }
  // Buffers for this many rows; those that there are stay.
  void make_room(int rows) {
    const int q_width = heads() * head_dim(), kv_width = kv_heads() * head_dim(), width = mlp_width(spec());
    if (rows > room) {
      room = rows;
      q = Rows(rows, q_width);
      k = Rows(rows, kv_width);
      v = Rows(rows, kv_width);
      from_attention = Rows(rows, spec().hidden);
      from_mlp = Rows(rows, spec().hidden);
      gate = Rows(rows, width);
      up = Rows(rows, width);
      if (rows > few_rows) make_room(shared, rows);
    }
  }

  void tile_rows(std::span<const Row> rows) {
    tiles.clear();
    const int longest = std::max_element(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.position < b.position; })->position + 1;
    split = thread_count() > 1 && rows.size() <= 4 && longest > chunk_positions;
    if (split) {
      chunks = static_cast<std::size_t>((longest + chunk_positions - 1) / chunk_positions);
      partials.assign(rows.size() * static_cast<std::size_t>(heads()) * chunks, {});
      partial_outs.resize((std::max)(partial_outs.size(), partials.size() * cache.width()));
      for (std::size_t i = 0; i < partials.size(); ++i) partials[i].out = partial_outs.data() + i * cache.width();
    }
    const int most = split ? 1 : (std::max)(1, most_queries / (heads() / kv_heads()));
    for (int i = 0; i < static_cast<int>(rows.size()); ++i) {
      const bool goes_on = !tiles.empty() && tiles.back().count < most && rows[static_cast<std::size_t>(i)].sequence == rows[static_cast<std::size_t>(i - 1)].sequence;
      if (goes_on) ++tiles.back().count;
      else tiles.push_back({i, 1});
    }
  }

  const LayerView* some_view(bool windowed) const {
    for (const LayerView& view : views)
      if (view.window.has_value() == windowed && !view.frequencies.empty()) return &view;
    return nullptr;
  }

  Partial& partial(int r, int head, int chunk) {
    return partials[(static_cast<std::size_t>(r) * static_cast<std::size_t>(heads()) + static_cast<std::size_t>(head)) * chunks + static_cast<std::size_t>(chunk)];
  }

  std::shared_ptr<const PackedModel> model;
  BlockTable table;
  KvCache cache;
  Team team;
  bool integers;  // whether any product takes integer activations
  Precision precision;
  bool screens;  // whether the head is screened where that will do
  std::vector<LayerView> views;
  AttentionNumbers numbers{};
  std::vector<std::unique_ptr<ThreadBuffers>> threads;
  ThreadBuffers shared{std::vector<Segment>()};
  int room = 0, turn_values = 0;
  Rows q, k, v, from_attention, from_mlp, gate, up;
  std::vector<RowTile> tiles;
  bool split = false;  // the chunks of a row's positions are shared among threads
  std::size_t chunks = 0;
  std::vector<Partial> partials;  // [rows][heads][chunks]
  std::vector<float> partial_outs;
};

struct Pass {
  std::span<const Row> rows;
  const std::vector<int>& asked;
  float* logits;
  bool alone;  // each thread keeps all rows' hidden states for itself
  bool best;   // the best of the logits are all that is asked for
};

}  // namespace diecast::cpu::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
