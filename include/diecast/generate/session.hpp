// Step 7 for one sequence: prefill in chunks, then a token at a time until something stops it. A session keeps the K and V of its last
// turn, so that a conversation computes only what is new. It belongs to one thread; backend and tokenizer are shared.
// Whatever throws (the backend, a callback) leaves the session usable: what the cache holds is known at every moment.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <diecast/backend/backend.hpp>
#include <diecast/error.hpp>
#include <diecast/generate/answer.hpp>
#include <diecast/generate/draft.hpp>
#include <diecast/generate/generation.hpp>
#include <diecast/tokens/tokenizer.hpp>
#include <diecast/trace/trace.hpp>

namespace diecast {

struct SessionOptions {
  std::optional<int> context{};  // tokens of prompt and answer together; absent: all that the model can hold
  int chunk = 256;               // rows of one prefill step: bounds scratch memory, changes no result
  int draft = 0;                 // tokens that are drafted from the sequence itself (draft.hpp): changes no answer, may give several tokens a pass
};

class Session {
 public:
  using OnPiece = std::function<void(const Piece&)>;

  // eos: every id that ends an answer, of all sources; the tokenizer's own joins them.
  Session(std::shared_ptr<const Backend> backend, std::shared_ptr<const Tokenizer> tokenizer, std::vector<int> eos, SessionOptions options = {})
      : backend_(std::move(backend)), speech_(std::move(tokenizer), std::move(eos), backend_->spec().vocab), chunk_(options.chunk), draft_(options.draft) {
    const int most = backend_->spec().context;
    context_tokens_ = options.context.value_or(most);
    if (context_tokens_ < 1 || context_tokens_ > most)
      throw Error("a context of " + std::to_string(context_tokens_) + " tokens was asked, this model holds 1 to " + std::to_string(most));
    if (chunk_ < 1) throw Error("prefill in chunks of " + std::to_string(chunk_) + " rows is impossible");
    if (draft_ < 0 || draft_ > most) throw Error("drafts of " + std::to_string(draft_) + " tokens are impossible: 0 to " + std::to_string(most) + " are");
    context_ = backend_->open(context_tokens_);
    sequence_ = context_->table().add();
  }

  // Answers. on_piece sees every token as it comes; without it the answer counts as not streamed, and is one long `send`.
  // The trace's stages go on with [tokenize,] prefill, sample, send, and one decode for each token after the first visible text.
  // `send` lasts until there is something to see: further tokens that it takes are inner spans of it. The last stage is ended on return.
  Answer generate(const Request& request, const OnPiece& on_piece = {}, std::stop_token cancel = {}, Trace* trace = nullptr) {
    check(request);
    Trace own;  // stages are always timed; inner spans only where somebody looks
    const Turn turn{on_piece, cancel, trace ? *trace : own, trace};
    const StageEnd end{turn.stages};
    Generation generation(speech_, request, prompt_ids(request, *speech_.tokenizer, context_tokens_, turn.stages), context_tokens_);
    return run(turn, generation);
  }

  int context_tokens() const { return context_tokens_; }
  // The ids whose K and V the cache holds.
  const std::vector<int>& cached_ids() const { return cached_; }
  // Forgets the conversation.
  void reset() {
    cached_.clear();
    context_->table().truncate(sequence_, 0);
  }

 private:
  struct Turn {
    const OnPiece& on_piece;
    const std::stop_token& cancel;
    Trace& stages;
    Trace* inner;
  };
  struct StageEnd {
    Trace& trace;
    ~StageEnd() { trace.end_stage(); }
  };

  // A template for <diecast/compiled.hpp>, as in chat/chat_template.hpp.
  template <class = void>
  Answer run(const Turn& turn, Generation& generation);

  // Cuts the cache to what it has in common with these ids; the last one is always computed, for its logits are needed.
  // Rows that a failure left half done lie behind cached_ and go too.
  int keep_common(const std::vector<int>& ids) {
    const auto differ = std::mismatch(cached_.begin(), cached_.end(), ids.begin(), ids.end() - 1).first;
    const auto common = differ - cached_.begin();
    context_->table().truncate(sequence_, static_cast<int>(common));
    cached_.resize(static_cast<std::size_t>(common));
    return static_cast<int>(common);
  }

  // The logits after the last id; nothing when cancelled.
  std::optional<Logits> prefill(const Turn& turn, std::span<const int> ids) {
    while (true) {
      const auto count = (std::min)(static_cast<std::size_t>(chunk_), ids.size() - cached_.size());
      const auto logits = forward(turn, ids.subspan(cached_.size(), count), cached_.size() + count == ids.size());
      if (!logits || cached_.size() == ids.size()) return logits;
    }
  }
  // The logits after this id, and after each token drafted behind it; `left` more may be sampled. K and V of drafts that were not taken go first.
  Logits decode(const Turn& turn, int id, const Answer& answer, int left) {
    const Trace::Scope scope(turn.inner, "forward");
    context_->table().truncate(sequence_, static_cast<int>(cached_.size()));
    drafted_.clear();
    if (draft_ > 0) {
      std::vector<int> history = answer.prompt_ids;
      history.insert(history.end(), answer.ids.begin(), answer.ids.end());
      drafted_ = draft_from(history, (std::min)(draft_, left - 1));
    }
    rows_.clear();
    rows_.push_back({id, static_cast<int>(cached_.size()), sequence_, true});
    for (const int drafted : drafted_) rows_.push_back({drafted, static_cast<int>(cached_.size() + rows_.size()), sequence_, true});
    const Logits logits = context_->forward(rows_, turn.inner);
    cached_.push_back(id);
    return logits;
  }

  // Runs these ids behind what the cache holds; nothing when cancelled.
  std::optional<Logits> forward(const Turn& turn, std::span<const int> ids, bool asks) {
    if (turn.cancel.stop_requested()) return {};
    rows_.clear();
    for (const int id : ids) rows_.push_back({id, static_cast<int>(cached_.size() + rows_.size()), sequence_, false});
    rows_.back().logits = asks;
    const Logits logits = context_->forward(rows_, turn.inner);
    cached_.insert(cached_.end(), ids.begin(), ids.end());
    return logits;
  }

  std::shared_ptr<const Backend> backend_;
  Speech speech_;
  int chunk_, draft_;
  int context_tokens_ = 0;
  std::unique_ptr<Context> context_;
  int sequence_ = 0;
  std::vector<int> cached_;
  std::vector<Row> rows_;
  std::vector<int> drafted_;  // behind the last row that was not a draft
};

template <class>
Answer Session::run(const Turn& turn, Generation& generation) {
  turn.stages.stage("prefill");
  if (generation.ended()) return generation.finish(turn.stages);
  const std::vector<int>& prompt = generation.answer().prompt_ids;
  generation.cached(keep_common(prompt));
  const std::optional<Logits> of_prompt = prefill(turn, prompt);
  if (!of_prompt) return generation.finish(turn.stages, FinishReason::cancelled);
  Logits logits = *of_prompt;
  drafted_.clear();
  std::size_t row = 0;  // of the logits that choose the next token

  while (true) {
    const Piece piece = generation.next(logits.row(static_cast<int>(row)), turn.stages, turn.inner);
    if (turn.on_piece) {
      const Trace::Scope scope(piece.index == 0 ? nullptr : turn.inner, "send");  // the first one is a stage
      turn.on_piece(piece);
    }
    generation.delivered(turn.stages, static_cast<bool>(turn.on_piece));
    if (generation.ended()) return generation.finish(turn.stages);
    if (turn.cancel.stop_requested()) return generation.finish(turn.stages, FinishReason::cancelled);
    if (row < drafted_.size() && drafted_[row] == piece.id) {  // its logits are there already
      cached_.push_back(piece.id);
      ++row;
    } else {
      logits = decode(turn, piece.id, generation.answer(), generation.room() - piece.index - 1);
      row = 0;
    }
  }
}

}  // namespace diecast
