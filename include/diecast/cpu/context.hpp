// Steps 3-5 on the CPU. All threads walk through the whole pass together and meet where one needs what another has made: after Q, K and V,
// after RoPE, after attention, after the output product, after gate and up, after down. For one or two rows each thread normalises and
// quantises for itself, since that is less work than a meeting; for more they share the rows.
// Every number is computed by one thread in one order, so the result depends on no batch, chunk or number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <diecast/backend/backend.hpp>
#include <diecast/cpu/walk.hpp>
#include <diecast/cpu/workspace.hpp>
#include <diecast/trace/trace.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::cpu::inline DIECAST_ISA {

template <Shape shape>
class CpuContext final : public Context {
 public:
  CpuContext(std::shared_ptr<const PackedModel> model, int tokens, const Options& options) : w_(std::move(model), tokens, options) {}

  BlockTable& table() override { return w_.table; }

  Logits forward(std::span<const Row> rows, Trace* trace = nullptr) override {
    check_rows(w_.spec(), w_.table, rows);
    for (const Row& row : rows) w_.table.append(row.sequence);
    const auto asked = static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), [](const Row& row) { return row.logits; }));
    logits_.resize(asked * static_cast<std::size_t>(w_.spec().vocab));
    const bool best = asked > 0 && std::all_of(rows.begin(), rows.end(), [](const Row& row) { return !row.logits || row.best.count > 0; });
    best_.clear();
    computed_ = 0;
    std::size_t done = 0;
    for (std::size_t first = 0; first < rows.size(); first += most_rows) {
      const auto slice = rows.subspan(first, (std::min)(most_rows, rows.size() - first));
      done += run(slice, logits_.data() + done * static_cast<std::size_t>(w_.spec().vocab), best, trace);
    }
    if (best) return {{}, w_.spec().vocab, best_, computed_};
    return {logits_, w_.spec().vocab};
  }

  std::size_t block_bytes() const override { return w_.cache.block_bytes(); }
  void read_block(int block, std::span<std::byte> to) const override { w_.cache.read_block(static_cast<std::size_t>(block), to.data()); }
  void write_block(int block, std::span<const std::byte> from) override { w_.cache.write_block(static_cast<std::size_t>(block), from.data()); }
  std::string block_layout() const override {
    return "cpu, " + std::string(cache_type_name(w_.cache.type())) + ", " + (w_.integers ? std::string(precision_name(w_.precision)) : "float");
  }

 private:
  static constexpr std::size_t most_rows = 256;  // that go through the layers together: bounds the memory

  // All layers for these rows; returns how many rows of logits it wrote.
  std::size_t run(std::span<const Row> rows, float* logits, bool best, Trace* trace) {
    const auto count = static_cast<int>(rows.size());
    w_.make_room(count);
    w_.tile_rows(rows);
    std::vector<int> asked;
    for (int i = 0; i < count; ++i)
      if (rows[static_cast<std::size_t>(i)].logits) asked.push_back(i);
    const Pass pass{rows, asked, logits, count <= few_rows || w_.thread_count() == 1, best};
    HugePages* const pages = warm_ && w_.model->pages && !w_.model->pages->done() ? w_.model->pages.get() : nullptr;
    warm_ = true;
    w_.team.run([&](int thread) {
      Walk<shape>(w_, pass, thread, thread == 0 ? trace : nullptr).run();
      if (pages) pages->move_next();
    });
    if (best) take_best(rows, asked);
    return asked.size();
  }

  void take_best(std::span<const Row> rows, const std::vector<int>& asked) {
    for (std::size_t i = 0; i < asked.size(); ++i) {
      std::vector<Candidate> found;
      for (const auto& thread : w_.threads) {
        found.insert(found.end(), thread->best[i].found().begin(), thread->best[i].found().end());
        computed_ += thread->best[i].computed();
      }
      best_.push_back(best_of(std::move(found), rows[static_cast<std::size_t>(asked[i])].best.count));
    }
  }

  Workspace<shape> w_;
  std::vector<float> logits_;
  std::vector<std::vector<Candidate>> best_;  // of the rows that asked
  int computed_ = 0;                          // rows of a screened head
  bool warm_ = false;                         // the first pass is over: the first token waits for nothing else
};

}  // namespace diecast::cpu::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
