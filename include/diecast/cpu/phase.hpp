// What the phases of a thread's way through a pass have in common: who this thread is, which rows are its own, and the steps between the large ones.
#pragma once

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <variant>

#include <diecast/cpu/norm.hpp>
#include <diecast/cpu/product.hpp>
#include <diecast/cpu/workspace.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::cpu::inline DIECAST_ISA {

template <Shape shape>
struct Phase {
  Workspace<shape>& w;
  const Pass& pass;
  ThreadBuffers& b;    // where the rows' hidden states and activations are: shared, or this thread's own
  ThreadBuffers& own;
  int thread;
  int rows, first, last;  // all, and this thread's own

  Phase(Workspace<shape>& workspace, const Pass& of, int number)
      : w(workspace), pass(of), b(static_cast<int>(of.rows.size()) <= few_rows ? *workspace.threads[static_cast<std::size_t>(number)] : workspace.shared),
        own(*workspace.threads[static_cast<std::size_t>(number)]), thread(number), rows(static_cast<int>(of.rows.size())), first(0), last(rows) {
    if (!pass.alone) std::tie(first, last) = w.share(rows, thread);
  }

  const Spec& spec() const { return w.spec(); }
  const LayerParts& parts(int layer) const { return w.model->parts.layers[static_cast<std::size_t>(layer)]; }
  const Row& row(int r) const { return pass.rows[static_cast<std::size_t>(r)]; }
  void meet() { w.team.meet(); }
  void meet_if_shared() {
    if (!pass.alone) meet();
  }

  void finish_layer(int layer, int r) {
    const LayerParts& p = parts(layer);
    if (spec().residual != Residual::sequential) add(b.hidden.row(r), w.from_attention.row(r), {});
    add(b.hidden.row(r), w.from_mlp.row(r), p.after_mlp);
  }

  // hidden += what a branch gives, normalised and scaled where the model does so. The branch's row is left as it is.
  void add(float* hidden, const float* branch, const NormPart& after) {
    const int width = spec().hidden;
    if (after.weight) {
      own.outs.resize((std::max)(own.outs.size(), static_cast<std::size_t>(round_up(width, lanes))));
      normalise(after, branch, width, own.outs.data());
      branch = own.outs.data();
    }
    const Floats scale = broadcast(static_cast<float>(spec().residual_scale.value_or(1)));
    const bool scaled = spec().residual_scale.has_value();
    for (int i = 0; i < width; i += lanes) {
      const Floats given = load_tail(branch + i, width - i);
      store_tail(hidden + i, load_tail(hidden + i, width - i) + (scaled ? given * scale : given), width - i);
    }
  }

  void normalise(const NormPart& norm, const float* x, int width, float* y) const {
    if (const auto* rms = std::get_if<RmsNorm>(&spec().norm)) rms_norm(x, norm.weight, static_cast<float>(rms->epsilon), width, y);
    else layer_norm(x, norm.weight, norm.bias, static_cast<float>(std::get<LayerNorm>(spec().norm).epsilon), width, y);
  }

  bool exact() const { return w.precision == Precision::exact; }
  bool at_least_balanced() const { return w.precision != Precision::fast; }

  // A row of hidden states as the next products take it.
  void prepare(const NormPart& norm, const float* hidden, int r, bool wide) {
    if (norm.weight) normalise(norm, hidden, spec().hidden, b.x.row(r));
    else std::copy_n(hidden, spec().hidden, b.x.row(r));
    quantise_row(b.x, r, wide);
  }
  void quantise_row(ActivationRows& x, int r, bool wide) const {
    const Activations view = x.view(wide);
    if (w.integers && view.cols % block_columns == 0) quantise(view, r);
  }
  void quantise_rows(ActivationRows& x, bool wide) const {
    for (int r = first; r < last; ++r) quantise_row(x, r, wide);
  }

  // This thread's rows of W x + b. Widths that the compiler knows gain nothing here (bench/README.md), so that all matrices share a kernel.
  void project(const LinearPart& part, const Activations& x, int tokens, float* out, std::size_t stride) {
    const auto [begin, end] = w.share(part.matrix.panels(), thread);
    with_format(part.matrix.format, [&, begin = begin, end = end]<Format format>() {
      if constexpr (shape.has(format)) product<format, run_time>(part.matrix, part.bias, x, tokens, begin, end, {out, stride}, own.ahead);
    });
  }
  void project(const LinearPart& part, const Activations& x, int tokens, Rows& out) {
    project(part, x, tokens, out.row(0), out.stride);
  }
};

}  // namespace diecast::cpu::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
