// A scripted model: a backend whose next-token logits are a rule over the ids of the sequence, and a tokenizer of a few given pieces.
// With them sampling, stopping and serving are tested without weights. The ids are read back through the block table, so that a wrong
// position, a wrong cut or a stale cache changes the answer.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <diecast/backend/backend.hpp>
#include <diecast/tokens/tokenizer.hpp>
#include <diecast/trace/trace.hpp>

#include "sorted_best.hpp"

namespace diecast::scripted {

using Rule = std::function<std::vector<float>(std::span<const int> ids)>;  // ids of the whole sequence -> logits [vocab]

// One token is certain, the others are not impossible.
inline std::vector<float> one_hot(int vocab, int id) {
  std::vector<float> logits(static_cast<std::size_t>(vocab), -10.0F);
  logits[static_cast<std::size_t>(id)] = 10.0F;
  return logits;
}
// After a prompt of this length the answer is these ids, again and again.
inline Rule says(int vocab, std::size_t prompt, std::vector<int> ids) {
  return [=](std::span<const int> sequence) { return one_hot(vocab, ids[(sequence.size() - prompt) % ids.size()]); };
}
// These rows of logits, one for each step.
inline Rule rows(std::size_t prompt, std::vector<std::vector<float>> logits) {
  return [=](std::span<const int> sequence) { return logits[(sequence.size() - prompt) % logits.size()]; };
}
// Logits that depend on every id and every position of the sequence.
inline Rule hashed(int vocab) {
  return [=](std::span<const int> sequence) {
    std::uint64_t state = 1;
    for (const int id : sequence) state = (state ^ static_cast<std::uint64_t>(id + 1)) * 0x9E3779B97F4A7C15 + (state >> 29);
    std::vector<float> logits(static_cast<std::size_t>(vocab));
    for (float& z : logits) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      z = static_cast<float>(state >> 40) / 4194304.0F;  // 0 to 4
    }
    return logits;
  };
}

class Model final : public Backend {
 public:
  Model(int vocab, int context, Rule next) : rule(std::move(next)) {
    spec_.vocab = vocab;
    spec_.context = context;
  }
  std::string_view name() const override { return "scripted"; }
  const Spec& spec() const override { return spec_; }
  std::unique_ptr<Context> open(int tokens) const override { return std::make_unique<Running>(*this, tokens); }

  Rule rule;
  std::function<void()> before_forward{};  // may throw or cancel
  std::function<void()> during_forward{};  // the same, when the rows are already in the cache
  bool copies_blocks = true;
  bool gives_best = false;  // and no other logits, where all rows that ask say that those suffice
  std::string layout = "scripted";
  mutable std::atomic<int> forwards{0}, rows_run{0}, highest_position{-1};

 private:
  class Running final : public Context {
   public:
    Running(const Model& model, int tokens) : model_(model), table_(tokens), ids_(static_cast<std::size_t>(table_.capacity()), -1) {}

    Logits forward(std::span<const Row> rows, Trace* trace) override {
      const Trace::Scope scope(trace, "blocks");
      if (model_.before_forward) model_.before_forward();
      const auto vocab = static_cast<std::size_t>(model_.spec_.vocab);
      for (const Row& row : rows)
        if (row.id < 0 || row.id >= model_.spec_.vocab)
          throw Error("id " + std::to_string(row.id) + " is outside the vocabulary of " + std::to_string(vocab));
      values_.clear();
      best_.clear();
      const bool all = !model_.gives_best || std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.logits && row.best.count == 0; });
      ++model_.forwards;
      for (const Row& row : rows) {
        if (row.position != table_.length(row.sequence)) throw Error("position " + std::to_string(row.position) + " does not continue the sequence", Blame::program);
        table_.append(row.sequence);
        ids_[table_.slot(row.sequence, row.position)] = row.id;
        ++model_.rows_run;
        model_.highest_position = std::max(model_.highest_position.load(), row.position);
        if (!row.logits) continue;
        std::vector<int> sequence;
        for (int position = 0; position <= row.position; ++position) sequence.push_back(ids_[table_.slot(row.sequence, position)]);
        const std::vector<float> logits = model_.rule(sequence);
        if (all) values_.insert(values_.end(), logits.begin(), logits.end());
        else best_.push_back(testing::sorted_best(logits, row.best));
      }
      if (model_.during_forward) model_.during_forward();
      return {values_, model_.spec_.vocab, best_};
    }
    BlockTable& table() override { return table_; }
    std::size_t block_bytes() const override { return model_.copies_blocks ? BlockTable::block_tokens * sizeof(int) : 0; }
    void read_block(int block, std::span<std::byte> to) const override { std::memcpy(to.data(), ids_.data() + block * BlockTable::block_tokens, block_bytes()); }
    void write_block(int block, std::span<const std::byte> from) override { std::memcpy(ids_.data() + block * BlockTable::block_tokens, from.data(), block_bytes()); }
    std::string block_layout() const override { return model_.layout; }

   private:
    const Model& model_;
    BlockTable table_;
    std::vector<int> ids_;  // by slot
    std::vector<float> values_;
    std::vector<std::vector<Candidate>> best_;
  };

  Spec spec_{};
};

// Pieces by id; those in angle brackets, like "<eos>", are control tokens. Text is cut greedily into the longest pieces.
class Toy final : public Tokenizer {
 public:
  explicit Toy(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {}

  using Tokenizer::encode;
  std::vector<int> encode(const PromptText& prompt) const override {
    std::vector<int> ids;
    for (std::size_t at = 0; at < prompt.text.size();) {
      const bool typed = std::any_of(prompt.typed.begin(), prompt.typed.end(), [&](const Range& range) { return at >= range.begin && at < range.end; });
      int best = -1;
      for (int id = 0; id < size(); ++id)
        if (!(is_control(id) && typed) && prompt.text.compare(at, piece(id).size(), piece(id)) == 0 && !piece(id).empty() &&
            (best < 0 || piece(id).size() > piece(best).size()))
          best = id;
      if (best < 0) throw Error("the toy tokenizer has no piece for \"" + prompt.text.substr(at) + "\"");
      ids.push_back(best);
      at += piece(best).size();
    }
    return ids;
  }
  int size() const override { return static_cast<int>(pieces_.size()); }
  std::string_view bytes(int id) const override { return is_control(id) ? std::string_view() : piece(id); }
  std::string_view piece(int id) const override { return pieces_.at(static_cast<std::size_t>(id)); }
  bool is_control(int id) const override { return piece(id).size() > 2 && piece(id).front() == '<' && piece(id).back() == '>'; }
  bool strips_first_space() const override { return false; }

 private:
  std::vector<std::string> pieces_;
};

}  // namespace diecast::scripted
