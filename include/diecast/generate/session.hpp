// Step 7 for one sequence: prefill in chunks, then a token at a time until something stops it. A session keeps the K and V of its last
// turn, so that a conversation computes only what is new. It belongs to one thread; backend and tokenizer are shared.
// Whatever throws (the backend, a callback) leaves the session usable: what the cache holds is known at every moment.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <diecast/backend/backend.hpp>
#include <diecast/chat/chat_template.hpp>
#include <diecast/error.hpp>
#include <diecast/generate/answer.hpp>
#include <diecast/generate/draft.hpp>
#include <diecast/generate/generation.hpp>
#include <diecast/generate/sequence_file.hpp>
#include <diecast/tokens/tokenizer.hpp>
#include <diecast/trace/trace.hpp>

namespace diecast {

struct SessionOptions {
  std::optional<int> context{};  // tokens of prompt and answer together; absent: all that the model can hold
  int chunk = 256;               // rows of one prefill step: bounds scratch memory, changes no result
  int draft = 0;                 // tokens that are drafted from the sequence itself (draft.hpp): changes no answer, may give several tokens a pass
};

class Session {
  struct Turn;

 public:
  class Stream;
  using OnPiece = std::function<void(const Piece&)>;
  using Render = std::function<PromptText(std::span<const Message>)>;  // step 1

  // eos: every id that ends an answer, of all sources; the tokenizer's own joins them.
  Session(std::shared_ptr<const Backend> backend, std::shared_ptr<const Tokenizer> tokenizer, std::vector<int> eos, SessionOptions options = {},
          Render render = {})
      : backend_(std::move(backend)), speech_(std::move(tokenizer), std::move(eos), backend_->spec().vocab), chunk_(options.chunk), draft_(options.draft),
        render_(std::move(render)) {
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
    Turn turn = begin(request, std::move(cancel), trace, static_cast<bool>(on_piece));
    const StageEnd end{turn.stages()};
    while (const Piece* piece = next(turn)) {
      if (!on_piece) continue;
      const Trace::Scope scope(piece->index == 0 ? nullptr : turn.trace, "send");  // the first one is a stage
      on_piece(*piece);
    }
    return std::move(*turn.answer);
  }

  // The same as a range of pieces, each computed when the loop comes to it: for (const Piece& piece : session.stream(request)) ...
  // Leaving the loop ends the answer. The session stays where it is meanwhile, and the next answer of the session ends this one.
  Stream stream(const Request& request, std::stop_token cancel = {}, Trace* trace = nullptr);
  // From messages, by the model's own template; `options` is a request whose prompt is not looked at.
  Stream generate(std::span<const Message> messages, Request options = {}, std::stop_token cancel = {}, Trace* trace = nullptr);
  PromptText render(std::span<const Message> messages) const {
    if (!render_) throw Error("this session knows no chat template: an engine's session does", Blame::program);
    return render_(messages);
  }

  int context_tokens() const { return context_tokens_; }
  // The ids whose K and V the cache holds.
  const std::vector<int>& cached_ids() const { return cached_; }
  // Forgets the conversation.
  void reset() {
    ++turns_;
    cached_.clear();
    context_->table().truncate(sequence_, 0);
  }

  // What the cache holds, for another process to go on with (sequence_file.hpp). `identity` is the engine's: no other one may load it.
  void save(const std::string& path, std::string_view identity) const { save_sequence(path, identity, *context_, sequence_, cached_); }
  void load(const std::string& path, std::string_view identity) {
    reset();
    try {
      cached_ = load_sequence(path, identity, backend_->spec(), *context_, sequence_, context_tokens_);
    } catch (...) {
      reset();
      throw;
    }
  }

 private:
  // An answer that is being written.
  struct Turn {
    Generation generation;
    std::stop_token cancel;
    Trace own;     // stages are always timed; inner spans only where somebody looks
    Trace* trace;
    bool streamed;
    std::uint64_t number;
    bool began = false;
    Logits logits{{}, 0};
    std::size_t row = 0;  // of the logits that choose the next token
    std::optional<Piece> piece{};
    std::optional<Answer> answer{};  // when it is over

    Trace& stages() { return trace ? *trace : own; }
  };
  struct StageEnd {
    Trace& trace;
    ~StageEnd() { trace.end_stage(); }
  };

  Turn begin(const Request& request, std::stop_token cancel, Trace* trace, bool streamed, Trace own = Trace()) {
    check(request);
    Trace& stages = trace ? *trace : own;
    try {
      Generation generation(speech_, request, prompt_ids(request, *speech_.tokenizer, context_tokens_, stages), context_tokens_);
      return {std::move(generation), std::move(cancel), std::move(own), trace, streamed, ++turns_};
    } catch (...) {
      stages.end_stage();
      throw;
    }
  }

  // The next token, or null when the answer is over. A template for <diecast/compiled.hpp>, as in chat/chat_template.hpp.
  template <class = void>
  const Piece* next(Turn& turn);

  const Piece* finish(Turn& turn, std::optional<FinishReason> reason = {}) {
    turn.answer = turn.generation.finish(turn.stages(), reason);
    return nullptr;
  }

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
  Logits decode(const Turn& turn, int id, int left) {
    const Trace::Scope scope(turn.trace, "forward");
    context_->table().truncate(sequence_, static_cast<int>(cached_.size()));
    drafted_.clear();
    if (draft_ > 0) {
      std::vector<int> history = cached_;
      history.push_back(id);
      drafted_ = drafter_.draft(history, (std::min)(draft_, left - 1));
    }
    rows_.clear();
    const Best best = turn.generation.needs(static_cast<int>(drafted_.size()));
    rows_.push_back({id, static_cast<int>(cached_.size()), sequence_, true, best});
    for (const int drafted : drafted_) rows_.push_back({drafted, static_cast<int>(cached_.size() + rows_.size()), sequence_, true, best});
    const Logits logits = context_->forward(rows_, turn.trace);
    cached_.push_back(id);
    return logits;
  }

  // Runs these ids behind what the cache holds; nothing when cancelled.
  std::optional<Logits> forward(const Turn& turn, std::span<const int> ids, bool asks) {
    if (turn.cancel.stop_requested()) return {};
    rows_.clear();
    for (const int id : ids) rows_.push_back({id, static_cast<int>(cached_.size() + rows_.size()), sequence_, false});
    rows_.back().logits = asks;
    rows_.back().best = turn.generation.needs();
    const Logits logits = context_->forward(rows_, turn.trace);
    cached_.insert(cached_.end(), ids.begin(), ids.end());
    return logits;
  }

  std::shared_ptr<const Backend> backend_;
  Speech speech_;
  int chunk_, draft_;
  Render render_;
  int context_tokens_ = 0;
  std::unique_ptr<Context> context_;
  int sequence_ = 0;
  std::uint64_t turns_ = 0;
  std::vector<int> cached_;
  std::vector<Row> rows_;
  Drafter drafter_;
  std::vector<int> drafted_;  // behind the last row that was not a draft
};

template <class>
const Piece* Session::next(Turn& turn) {
  Generation& generation = turn.generation;
  if (turn.answer) return nullptr;
  if (turn.number != turns_) throw Error("another answer was begun in this session; this one is over", Blame::program);
  if (!turn.began) {
    turn.began = true;
    turn.stages().stage("prefill");
    if (generation.ended()) return finish(turn);
    const std::vector<int>& prompt = generation.answer().prompt_ids;
    generation.cached(keep_common(prompt));
    const std::optional<Logits> of_prompt = prefill(turn, prompt);
    if (!of_prompt) return finish(turn, FinishReason::cancelled);
    turn.logits = *of_prompt;
    drafted_.clear();
  } else {
    const Piece& last = *turn.piece;
    generation.delivered(turn.stages(), turn.streamed);
    if (generation.ended()) return finish(turn);
    if (turn.cancel.stop_requested()) return finish(turn, FinishReason::cancelled);
    if (turn.row < drafted_.size() && drafted_[turn.row] == last.id) {  // its logits are there already
      cached_.push_back(last.id);
      ++turn.row;
    } else {
      drafter_.judge(drafted_.size(), turn.row);
      turn.logits = decode(turn, last.id, generation.room() - last.index - 1);
      turn.row = 0;
    }
  }
  turn.piece = generation.next(turn.logits, turn.row, turn.stages(), turn.trace);
  return &*turn.piece;
}

// A range of pieces that are computed one by one. It may be walked through once.
class Session::Stream {
 public:
  class iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = Piece;
    using difference_type = std::ptrdiff_t;
    iterator() = default;
    explicit iterator(Stream* stream) : stream_(stream) { ++*this; }
    const Piece& operator*() const { return *stream_->turn_.piece; }
    const Piece* operator->() const { return &**this; }
    iterator& operator++() {
      over_ = stream_->session_->next(stream_->turn_) == nullptr;
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return over_; }

   private:
    Stream* stream_ = nullptr;
    bool over_ = true;
  };

  iterator begin() { return iterator(this); }
  std::default_sentinel_t end() const { return {}; }

  int room() const { return turn_.generation.room(); }  // tokens that the answer may have
  // Whole behind the last piece; asked for before, the answer ends here, as `cancelled`.
  const Answer& answer() {
    if (!turn_.answer) session_->finish(turn_, FinishReason::cancelled);
    return *turn_.answer;
  }

 private:
  friend class Session;
  Stream(Session& session, Turn turn) : session_(&session), turn_(std::move(turn)) {}

  Session* session_;
  Turn turn_;
};

inline Session::Stream Session::stream(const Request& request, std::stop_token cancel, Trace* trace) {
  return {*this, begin(request, std::move(cancel), trace, true)};
}
inline Session::Stream Session::generate(std::span<const Message> messages, Request options, std::stop_token cancel, Trace* trace) {
  Trace own;
  (trace ? *trace : own).stage("template");
  options.prompt = render(messages);
  return {*this, begin(options, std::move(cancel), trace, true, std::move(own))};
}

}  // namespace diecast
