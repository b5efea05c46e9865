// Step 5 for the rows that ask: the head's product, or a search for the best of its rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <diecast/cpu/best_rows.hpp>
#include <diecast/cpu/math.hpp>
#include <diecast/cpu/phase.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::cpu::inline DIECAST_ISA {

template <Shape shape>
class HeadPhase {
 public:
  explicit HeadPhase(Phase<shape>& phase) : p_(phase) {}

  // The rows that ask move together.
  void run() {
    const auto asked = static_cast<int>(p_.pass.asked.size());
    const auto [from, to] = p_.pass.alone ? std::pair(0, asked) : p_.w.share(asked, p_.thread);
    for (int i = from; i < to; ++i) {
      const int r = p_.pass.asked[static_cast<std::size_t>(i)];
      // Rows were shared in another way before: each is finished here, by whoever normalises it.
      p_.finish_layer(p_.spec().layers - 1, r);
      p_.normalise(p_.w.model->parts.final_norm, p_.b.hidden.row(r), p_.spec().hidden, p_.b.x.row(i));
      p_.quantise_row(p_.b.x, i, p_.exact());
    }
    p_.meet_if_shared();
    if (asked == 0) return;
    if (p_.pass.best) p_.own.best.resize((std::max)(p_.own.best.size(), static_cast<std::size_t>(asked)));
    if constexpr (shape.screen) {
      if (p_.pass.best && p_.w.screens && asked <= most_screened) return screened_head(asked);
    }
    whole_head(asked);
    if (!p_.pass.best) return;
    const auto [first, last] = p_.w.share(p_.w.model->parts.head.matrix.panels(), p_.thread);
    for (int i = 0; i < asked; ++i) {
      const Best best = p_.row(p_.pass.asked[static_cast<std::size_t>(i)]).best;
      p_.own.best[static_cast<std::size_t>(i)].look_through(logits_of(i), (std::min)(16 * first, best.ids), (std::min)(16 * last, best.ids), best.count);
    }
  }

 private:
  static constexpr int most_screened = 4;  // rows that ask: from then on the whole head, read once for all, costs less

  float* logits_of(int i) const { return p_.pass.logits + static_cast<std::size_t>(i) * static_cast<std::size_t>(p_.spec().vocab); }

  // Finds the best rows of the head without reading it whole.
  void screened_head(int asked) {
    const Screen& screen = p_.w.model->parts.screen;
    const PackedMatrix& matrix = p_.w.model->parts.head.matrix;
    const auto [first, last] = p_.w.share(matrix.panels(), p_.thread);
    const int begin = 16 * first;
    const auto count = static_cast<std::size_t>(16 * (last - first)), rows = static_cast<std::size_t>(asked);
    const Activations x = p_.b.x.view(p_.exact());
    if (p_.own.high.size() < rows * count) {
      p_.own.high.resize(rows * count);
      p_.own.bounds.resize(rows * count);
      p_.own.norms = ActivationRows(most_screened, screen.norms.cols);
    }
    for (int i = 0; i < asked; ++i) block_norms(x, i, p_.own.norms.row(i));
    // A share's outputs begin at its first row.
    const auto of_share = [begin](PackedMatrix part) {
      part.data += static_cast<std::size_t>(begin / 16) * part.panel_bytes();
      part.rows -= begin;
      return part;
    };
    product<high_format, run_time>(of_share(screen.high), nullptr, x, asked, 0, last - first, {p_.own.high.data(), count}, p_.own.ahead);
    product<norm_format, run_time>(of_share(screen.norms), nullptr, p_.own.norms.view(false), asked, 0, last - first, {p_.own.bounds.data(), count}, p_.own.ahead);
    Ahead nothing;
    const auto compute = [&](int i) {
      return [this, i, &matrix, &x, &nothing](int panel) {
        const Activations one = x.from(i);
        product<Format::q8_0, run_time>(matrix, nullptr, one, 1, panel, panel + 1, {logits_of(i), static_cast<std::size_t>(p_.spec().vocab)}, nothing);
      };
    };
    const auto best_of_row = [&](int i) { return p_.row(p_.pass.asked[static_cast<std::size_t>(i)]).best; };
    for (int i = 0; i < asked; ++i) {
      const Best best = best_of_row(i);
      const auto at = static_cast<std::size_t>(i) * count;
      p_.own.best[static_cast<std::size_t>(i)].screen(p_.own.high.data() + at, p_.own.bounds.data() + at, logits_of(i), (std::min)(begin, best.ids), (std::min)(16 * last, best.ids),
                                                    best.count, compute(i));
    }
    p_.meet();
    for (int i = 0; i < asked; ++i) {
      std::vector<float> sure;
      for (const auto& thread : p_.w.threads) {
        const std::span<const float> its = thread->best[static_cast<std::size_t>(i)].sure();
        sure.insert(sure.end(), its.begin(), its.end());
      }
      p_.own.best[static_cast<std::size_t>(i)].compute_survivors(logits_of(i), kth_best(sure, best_of_row(i).count), compute(i));
    }
  }

  void whole_head(int asked) {
    const auto vocab = static_cast<std::size_t>(p_.spec().vocab);
    p_.project(p_.w.model->parts.head, p_.b.x.view(p_.exact()), asked, p_.pass.logits, vocab);
    if (!p_.spec().logit_divisor && !p_.spec().logit_soft_cap) return;
    const auto [first, last] = p_.w.share(p_.w.model->parts.head.matrix.panels(), p_.thread);
    const int end = (std::min)(16 * last, p_.spec().vocab);
    for (int i = 0; i < asked; ++i)
      for (int at = 16 * first; at < end; at += lanes) {
        float* logits = logits_of(i) + at;
        Floats z = load_tail(logits, end - at);
        if (p_.spec().logit_divisor) z = z / broadcast(static_cast<float>(*p_.spec().logit_divisor));
        if (p_.spec().logit_soft_cap) {
          const Floats cap = broadcast(static_cast<float>(*p_.spec().logit_soft_cap));
          z = cap * tanh(z / cap);
        }
        store_tail(logits, z, end - at);
      }
  }

  Phase<shape>& p_;
};

}  // namespace diecast::cpu::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
