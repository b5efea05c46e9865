// One thread's way through a pass: steps 3 to 5 for all rows, meeting the other threads where one needs what another has made.
#pragma once

#include <algorithm>
#include <cstddef>
#include <variant>

#include <diecast/cpu/attention_phase.hpp>
#include <diecast/cpu/head_phase.hpp>
#include <diecast/cpu/math.hpp>
#include <diecast/cpu/phase.hpp>
#include <diecast/cpu/rope.hpp>
#include <diecast/trace/trace.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::cpu::inline DIECAST_ISA {

template <Shape shape>
class Walk {
 public:
  Walk(Workspace<shape>& workspace, const Pass& pass, int thread, Trace* trace) : p_(workspace, pass, thread), attention_(p_), head_(p_), trace_(trace) {}

  void run() {
    p_.own.ahead.rewind();
    {
      const Trace::Scope span(trace_, "embed");
      for (int r = p_.first; r < p_.last; ++r) embed(r);
    }
    for (int layer = 0; layer < p_.w.spec().layers; ++layer) {
      const Trace::Scope span(trace_, "block", layer);
      block(layer);
    }
    const Trace::Scope span(trace_, "head");
    head_.run();
  }

 private:
  // Step 3, and the angles that the row's position turns by.
  void embed(int r) {
    float* hidden = p_.b.hidden.row(r);
    const auto width = static_cast<std::size_t>(p_.spec().hidden);
    unpack_row(p_.w.model->parts.embedding, p_.row(r).id, hidden);
    if (p_.spec().embedding_scale) {
      const auto scale = static_cast<float>(*p_.spec().embedding_scale);
      for (std::size_t i = 0; i < width; ++i) hidden[i] *= scale;
    }
    if (p_.w.model->parts.position.rows > 0) {
      p_.own.outs.resize((std::max)(p_.own.outs.size(), width));
      unpack_row(p_.w.model->parts.position, p_.row(r).position, p_.own.outs.data());
      for (std::size_t i = 0; i < width; ++i) hidden[i] += p_.own.outs[i];
    }
    // Layers turn in two ways at most: those with a window, and those that see all.
    for (const bool windowed : {false, true})
      if (const LayerView* view = p_.w.some_view(windowed))
        turns(view->frequencies, view->stretch, p_.row(r).position, p_.b.turns.row(r) + (windowed ? p_.w.turn_values : 0));
  }

  // Step 4.
  void block(int layer) {
    const LayerParts& p = p_.parts(layer);
    const bool parallel = p_.spec().residual != Residual::sequential;
    for (int r = p_.first; r < p_.last; ++r) {
      if (layer > 0) p_.finish_layer(layer - 1, r);
      p_.prepare(p.attention_norm, p_.b.hidden.row(r), r, p_.at_least_balanced());
    }
    p_.meet_if_shared();
    p_.project(p.q, p_.b.x.view(p_.at_least_balanced()), p_.rows, p_.w.q);
    p_.project(p.k, p_.b.x.view(p_.at_least_balanced()), p_.rows, p_.w.k);
    p_.project(p.v, p_.b.x.view(p_.at_least_balanced()), p_.rows, p_.w.v);
    p_.meet();
    attention_.turn_and_append(layer);
    p_.meet();
    with_cache(p_.w.cache.type(), [&]<CacheType type>() { attention_.template attend<type>(layer); });
    p_.meet();
    if (p_.w.split) {
      for (int r = p_.first; r < p_.last; ++r) attention_.merge_row(layer, r);
    } else {
      for (int r = p_.first; r < p_.last; ++r) std::copy_n(p_.w.q.row(r), p_.w.q.stride, p_.b.attended.row(r));
    }
    p_.quantise_rows(p_.b.attended, p_.exact());
    p_.meet_if_shared();
    p_.project(p.output, p_.b.attended.view(p_.exact()), p_.rows, p_.w.from_attention);
    p_.meet();
    for (int r = p_.first; r < p_.last; ++r) {
      if (!parallel) {
        p_.add(p_.b.hidden.row(r), p_.w.from_attention.row(r), p.after_attention);
        p_.prepare(p.mlp_norm, p_.b.hidden.row(r), r, p_.exact());
      } else if (p_.spec().residual == Residual::parallel) {
        p_.prepare(p.mlp_norm, p_.b.hidden.row(r), r, p_.exact());
      }
    }
    p_.meet_if_shared();
    mlp(p);
    p_.meet();
    // What the MLP gives is added with the next layer's beginning, or the head's.
  }

  void mlp(const LayerParts& p) {
    const bool gated = p.gate.matrix.rows > 0;
    // With one norm for attention and MLP the rows are as attention has taken them.
    const bool wide = p_.spec().residual == Residual::parallel_shared_norm ? p_.at_least_balanced() : p_.exact();
    if (gated) p_.project(p.gate, p_.b.x.view(wide), p_.rows, p_.w.gate);
    p_.project(p.up, p_.b.x.view(wide), p_.rows, p_.w.up);
    const auto [first, last] = p_.w.share(p.up.matrix.panels(), p_.thread);
    const Activation activation = std::visit([](const auto& part) { return part.activation; }, p_.spec().mlp);
    const auto apply = [&, first = first, last = last]<Activation kind>() {
      for (int r = 0; r < p_.rows; ++r)
        for (int i = 16 * first; i < 16 * last; i += lanes) {
          float* up = p_.w.up.row(r) + i;
          store(up, gated ? activate<kind>(load(p_.w.gate.row(r) + i)) * load(up) : activate<kind>(load(up)));
        }
    };
    switch (activation) {
      case Activation::silu: apply.template operator()<Activation::silu>(); break;
      case Activation::gelu: apply.template operator()<Activation::gelu>(); break;
      case Activation::gelu_tanh: apply.template operator()<Activation::gelu_tanh>(); break;
      case Activation::relu: apply.template operator()<Activation::relu>(); break;
    }
    p_.meet();
    for (int r = p_.first; r < p_.last; ++r) std::copy_n(p_.w.up.row(r), p_.w.up.stride, p_.b.inner.row(r));
    p_.quantise_rows(p_.b.inner, p_.at_least_balanced());
    p_.meet_if_shared();
    p_.project(p.down, p_.b.inner.view(p_.at_least_balanced()), p_.rows, p_.w.from_mlp);
  }

  Phase<shape> p_;
  AttentionPhase<shape> attention_;
  HeadPhase<shape> head_;
  Trace* trace_;
};

}  // namespace diecast::cpu::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
