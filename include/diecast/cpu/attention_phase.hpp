// The attention of a layer, between its products: what turns and stores Q, K and V, and what reads the cache. Threads share heads, tiles of rows,
// or for a few rows with a long past the chunks of positions.
#pragma once

#include <algorithm>
#include <cstddef>

#include <diecast/cpu/math.hpp>
#include <diecast/cpu/phase.hpp>
#include <diecast/cpu/rope.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::cpu::inline DIECAST_ISA {

template <Shape shape>
class AttentionPhase {
 public:
  explicit AttentionPhase(Phase<shape>& phase) : p_(phase) {}

  // QK-norm, RoPE, and K and V into the cache. Units are a row's heads; where all heads are normalised together, whole rows.
  void turn_and_append(int layer) {
    const LayerParts& p = p_.parts(layer);
    const bool together = p_.spec().attention.qk_norm == QkNorm::all_heads;
    const int heads = p_.w.heads(), all = heads + p_.w.kv_heads(), d = p_.w.head_dim();
    if (together) {
      const auto [first, last] = p_.w.share(p_.rows, p_.thread);
      const auto epsilon = static_cast<float>(std::get<RmsNorm>(p_.spec().norm).epsilon);
      for (int r = first; r < last; ++r) {
        rms_norm(p_.w.q.row(r), p.q_norm, epsilon, heads * d, p_.w.q.row(r));
        rms_norm(p_.w.k.row(r), p.k_norm, epsilon, p_.w.kv_heads() * d, p_.w.k.row(r));
        for (int head = 0; head < all; ++head) turn_head(layer, r, head);
      }
      return;
    }
    const auto [first, last] = p_.w.share(p_.rows * all, p_.thread);
    for (int unit = first; unit < last; ++unit) turn_head(layer, unit / all, unit % all);
  }

  // What the heads of these rows see of the cache. Of split rows the chunks are merged later.
  template <CacheType type>
  void attend(int layer) {
    const int group = p_.w.heads() / p_.w.kv_heads();
    int unit = 0;
    for (const RowTile& tile : p_.w.tiles) {
      const auto count = static_cast<std::size_t>(tile.count * group);
      const int last_chunk = (p_.row(tile.first + tile.count - 1).position) / chunk_positions;
      const int first_chunk = query_of(layer, tile.first, 0).first / chunk_positions;
      for (int kv = 0; kv < p_.w.kv_heads(); ++kv) {
        if (!p_.w.split && unit++ % p_.w.thread_count() != p_.thread) continue;
        gather(layer, tile, kv, group);
        const auto block = [&](int i) { return p_.w.cache.template block<type>(layer, kv, p_.w.table.slot(p_.row(tile.first).sequence, 16 * i) / 16); };
        p_.own.scores.resize((std::max)(p_.own.scores.size(), count * chunk_positions));
        for (int chunk = first_chunk; chunk <= last_chunk; ++chunk) {
          if (p_.w.split && unit++ % p_.w.thread_count() != p_.thread) continue;
          if (p_.w.split)
            for (std::size_t q = 0; q < count; ++q) p_.own.parts[q].out = p_.w.partial(tile.first, kv * group + static_cast<int>(q), chunk).out;
          attend_chunk<type, shape.head_dim>(chunk, p_.own.queries.data(), count, p_.w.head_dim(), block, p_.w.numbers, p_.own.scores.data(), p_.own.parts.data());
          for (std::size_t q = 0; q < count; ++q) {
            if (!sees(p_.own.queries[q], chunk)) continue;
            if (p_.w.split) p_.w.partial(tile.first, kv * group + static_cast<int>(q), chunk) = p_.own.parts[q];
            else merge(p_.own.states[q], p_.own.parts[q], p_.w.cache.width());
          }
        }
        if (!p_.w.split)
          for (int i = 0; i < tile.count; ++i)
            for (int h = 0; h < group; ++h) put_out(p_.own.states[static_cast<std::size_t>(i * group + h)], p_.w.q.row(tile.first + i) + (kv * group + h) * p_.w.head_dim());
      }
    }
  }

  // Merges the chunks of a split row.
  void merge_row(int layer, int r) {
    const std::size_t width = p_.w.cache.width();
    for (int head = 0; head < p_.w.heads(); ++head) {
      const Query query = query_of(layer, r, head);
      p_.own.outs.assign((std::max)(p_.own.outs.size(), width), 0.0F);
      Partial state;
      state.out = p_.own.outs.data();
      for (int chunk = query.first / chunk_positions; chunk <= (query.last - 1) / chunk_positions; ++chunk) merge(state, p_.w.partial(r, head, chunk), width);
      put_out(state, p_.b.attended.row(r) + head * p_.w.head_dim());
    }
  }

 private:
  void turn_head(int layer, int r, int head) {
    const LayerParts& p = p_.parts(layer);
    const LayerView& view = p_.w.views[static_cast<std::size_t>(layer)];
    const int d = p_.w.head_dim(), heads = p_.w.heads();
    const bool is_key = head >= heads;
    float* values = is_key ? p_.w.k.row(r) + (head - heads) * d : p_.w.q.row(r) + head * d;
    if (p_.spec().attention.qk_norm == QkNorm::each_head)
      rms_norm(values, is_key ? p.k_norm : p.q_norm, static_cast<float>(std::get<RmsNorm>(p_.spec().norm).epsilon), d, values);
    if (!view.frequencies.empty()) rotate(values, p_.b.turns.row(r) + (view.window ? p_.w.turn_values : 0), static_cast<int>(view.frequencies.size()));
    if (!is_key) return;
    const std::size_t slot = p_.w.table.slot(p_.row(r).sequence, p_.row(r).position);
    with_cache(p_.w.cache.type(), [&]<CacheType type>() { p_.w.cache.template append<type>(layer, head - heads, slot, values, p_.w.v.row(r) + (head - heads) * d); });
  }

  Query query_of(int layer, int r, int head) const {
    const LayerView& view = p_.w.views[static_cast<std::size_t>(layer)];
    const int end = p_.row(r).position + 1;
    return {p_.w.q.row(r) + head * p_.w.head_dim(), view.window ? (std::max)(0, end - *view.window) : 0, end};
  }

  void gather(int layer, const RowTile& tile, int kv, int group) {
    const auto count = static_cast<std::size_t>(tile.count * group);
    const std::size_t width = p_.w.cache.width();
    p_.own.queries.resize(count);
    p_.own.states.assign(count, {});
    p_.own.parts.assign(count, {});
    p_.own.outs.assign((std::max)(p_.own.outs.size(), 2 * count * width), 0.0F);
    for (int i = 0; i < tile.count; ++i)
      for (int h = 0; h < group; ++h) {
        const auto q = static_cast<std::size_t>(i * group + h);
        p_.own.queries[q] = query_of(layer, tile.first + i, kv * group + h);
        p_.own.states[q].out = p_.own.outs.data() + q * width;
        p_.own.parts[q].out = p_.own.outs.data() + (count + q) * width;
      }
  }

  // The weighted mean takes the query's place: nobody needs that any more.
  void put_out(const Partial& state, float* to) const {
    const int d = p_.w.head_dim();
    const Floats total = broadcast(state.total);
    for (int i = 0; i < d; i += lanes) store_tail(to + i, load_tail(state.out + i, d - i) / total, d - i);
  }

  Phase<shape>& p_;
};

}  // namespace diecast::cpu::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
