// Step 7 for one sequence: prefill in chunks, then a token at a time until something stops it. A session keeps the K and V of its last
// turn, so that a conversation computes only what is new. It belongs to one thread; backend and tokenizer are shared.
// Whatever throws (the backend, a callback) leaves the session usable: what the cache holds is known at every moment.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <diecast/backend/backend.hpp>
#include <diecast/error.hpp>
#include <diecast/generate/answer.hpp>
#include <diecast/generate/draft.hpp>
#include <diecast/generate/stop.hpp>
#include <diecast/sample/logprobs.hpp>
#include <diecast/sample/sampler.hpp>
#include <diecast/tokens/detokenizer.hpp>
#include <diecast/tokens/tokenizer.hpp>
#include <diecast/trace/timing.hpp>
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
      : backend_(std::move(backend)), tokenizer_(std::move(tokenizer)), eos_(std::move(eos)), chunk_(options.chunk), draft_(options.draft) {
    const int most = backend_->spec().context;
    context_tokens_ = options.context.value_or(most);
    if (context_tokens_ < 1 || context_tokens_ > most)
      throw Error("a context of " + std::to_string(context_tokens_) + " tokens was asked, this model holds 1 to " + std::to_string(most));
    if (chunk_ < 1) throw Error("prefill in chunks of " + std::to_string(chunk_) + " rows is impossible");
    if (draft_ < 0 || draft_ > most) throw Error("drafts of " + std::to_string(draft_) + " tokens are impossible: 0 to " + std::to_string(most) + " are");
    if (tokenizer_->eos) eos_.push_back(*tokenizer_->eos);
    context_ = backend_->open(context_tokens_);
    sequence_ = context_->table().add();
  }

  // Answers. on_piece sees every token as it comes; without it the answer counts as not streamed, and is one long `send`.
  // The trace's stages go on with [tokenize,] prefill, sample, send, and one decode for each token after the first visible text.
  // `send` lasts until there is something to see: further tokens that it takes are inner spans of it. The last stage is ended on return.
  Answer generate(const Request& request, const OnPiece& on_piece = {}, std::stop_token cancel = {}, Trace* trace = nullptr) {
    if (request.max_tokens < 1) throw Error("max_tokens is " + std::to_string(request.max_tokens) + " but must be at least 1");
    if (request.logprobs && *request.logprobs < 0) throw Error("logprobs is " + std::to_string(*request.logprobs) + " but cannot be negative");
    Trace own;  // stages are always timed; inner spans only where somebody looks
    const Turn turn{request, on_piece, cancel, trace ? *trace : own, trace};
    const StageEnd end{turn.stages};

    Answer answer;
    answer.prompt_ids = prompt_ids(turn);
    answer.usage.prompt_tokens = static_cast<int>(answer.prompt_ids.size());
    if (answer.prompt_ids.empty()) throw Error("the prompt has no tokens");
    if (answer.usage.prompt_tokens > context_tokens_)
      throw Error("the prompt has " + std::to_string(answer.usage.prompt_tokens) + " tokens, the context holds " + std::to_string(context_tokens_));
    const std::optional<double> per_token = run(turn, answer);
    answer.usage.completion_tokens = static_cast<int>(answer.ids.size());
    turn.stages.end_stage();
    answer.timing = time_to_first_token(turn.stages);
    answer.timing.decode_per_token_ns = per_token;
    return answer;
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
    const Request& request;
    const OnPiece& on_piece;
    const std::stop_token& cancel;
    Trace& stages;
    Trace* inner;
  };
  struct StageEnd {
    Trace& trace;
    ~StageEnd() { trace.end_stage(); }
  };

  std::vector<int> prompt_ids(const Turn& turn) const {
    if (const auto* ids = std::get_if<std::vector<int>>(&turn.request.prompt)) return *ids;
    turn.stages.stage("tokenize");
    std::vector<int> ids = tokenizer_->encode(std::get<PromptText>(turn.request.prompt));
    put_bos(*tokenizer_, ids);
    return ids;
  }

  // Fills the answer; returns the mean time of the tokens after the first, in nanoseconds. A template for <diecast/compiled.hpp>, as in
  // chat/chat_template.hpp.
  template <class = void>
  std::optional<double> run(const Turn& turn, Answer& answer);

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
  std::optional<Logits> prefill(const Turn& turn, std::span<const int> ids, Best best) {
    while (true) {
      const auto count = (std::min)(static_cast<std::size_t>(chunk_), ids.size() - cached_.size());
      const auto logits = forward(turn, ids.subspan(cached_.size(), count), cached_.size() + count == ids.size(), best);
      if (!logits || cached_.size() == ids.size()) return logits;
    }
  }
  // The logits after this id, and after each token drafted behind it; `left` more may be sampled. K and V of drafts that were not taken go first.
  Logits decode(const Turn& turn, int id, const Answer& answer, int left, const Sampler& sampler) {
    const Trace::Scope scope(turn.inner, "forward");
    context_->table().truncate(sequence_, static_cast<int>(cached_.size()));
    drafted_.clear();
    if (draft_ > 0) {
      std::vector<int> history = answer.prompt_ids;
      history.insert(history.end(), answer.ids.begin(), answer.ids.end());
      drafted_ = draft_from(history, (std::min)(draft_, left - 1));
    }
    rows_.clear();
    const Best best = needs(turn, sampler, static_cast<int>(drafted_.size()));
    rows_.push_back({id, static_cast<int>(cached_.size()), sequence_, true, best});
    for (const int drafted : drafted_) rows_.push_back({drafted, static_cast<int>(cached_.size() + rows_.size()), sequence_, true, best});
    const Logits logits = context_->forward(rows_, turn.inner);
    cached_.push_back(id);
    return logits;
  }

  // Runs these ids behind what the cache holds; nothing when cancelled.
  std::optional<Logits> forward(const Turn& turn, std::span<const int> ids, bool asks, Best best) {
    if (turn.cancel.stop_requested()) return {};
    rows_.clear();
    for (const int id : ids) rows_.push_back({id, static_cast<int>(cached_.size() + rows_.size()), sequence_, false});
    rows_.back().logits = asks;
    rows_.back().best = best;
    const Logits logits = context_->forward(rows_, turn.inner);
    cached_.insert(cached_.end(), ids.begin(), ids.end());
    return logits;
  }

  // What of the logits is asked for: with log-probabilities all.
  static Best needs(const Turn& turn, const Sampler& sampler, int drafts = 0) { return turn.request.logprobs ? Best{} : sampler.needs(drafts); }

  int choose(const Turn& turn, Sampler& sampler, const Logits& logits, std::size_t row, Answer& answer) const {
    const Trace::Scope scope(answer.ids.empty() ? nullptr : turn.inner, "sample");  // the first one is a stage
    const int id = logits.best.empty() ? sampler.sample(logits.row(static_cast<int>(row))) : sampler.sample(logits.best[row]);
    answer.ids.push_back(id);
    if (turn.request.logprobs) answer.logprobs.push_back(token_logprobs(logits.row(static_cast<int>(row)), vocabulary(), id, *turn.request.logprobs));
    return id;
  }

  void deliver(const Turn& turn, int index, int id, const std::string& text, Answer& answer) const {
    answer.text += text;
    if (!turn.on_piece) return;
    const Trace::Scope scope(index == 0 ? nullptr : turn.inner, "send");
    turn.on_piece({index, id, text, turn.request.logprobs ? &answer.logprobs.back() : nullptr});
  }

  int vocabulary() const { return (std::min)(tokenizer_->size(), backend_->spec().vocab); }

  std::shared_ptr<const Backend> backend_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<int> eos_;
  int chunk_, draft_;
  int context_tokens_ = 0;
  std::unique_ptr<Context> context_;
  int sequence_ = 0;
  std::vector<int> cached_;
  std::vector<Row> rows_;
  std::vector<int> drafted_;  // behind the last row that was not a draft
};

template <class>
std::optional<double> Session::run(const Turn& turn, Answer& answer) {
  StopStrings stops(turn.request.stop);
  Sampler sampler(turn.request.sampling, vocabulary(), answer.prompt_ids, turn.request.choice);
  StreamDecoder decoder(*tokenizer_);
  const int room = (std::min)(turn.request.max_tokens, context_tokens_ - answer.usage.prompt_tokens);

  turn.stages.stage("prefill");
  answer.finish_reason = FinishReason::length;
  if (room == 0) return {};
  answer.usage.cached_tokens = keep_common(answer.prompt_ids);
  const std::optional<Logits> of_prompt = prefill(turn, answer.prompt_ids, needs(turn, sampler));
  bool cancelled = !of_prompt;
  Logits logits = of_prompt.value_or(Logits{{}, 0});
  drafted_.clear();
  std::size_t row = 0;  // of the logits that choose the next token
  std::int64_t first_token = 0, last_token = 0;
  bool seen = false;  // whether the time to the first token is over

  for (int index = 0; !cancelled; ++index) {
    if (index == 0) turn.stages.stage("sample");
    const int id = choose(turn, sampler, logits, row, answer);
    if (index == 0) turn.stages.stage("send");
    const bool ends = std::find(eos_.begin(), eos_.end(), id) != eos_.end();
    const bool full = index + 1 == room;
    std::string text = ends ? std::string() : stops.push(decoder.next(id));
    if ((ends || full) && !stops.stopped()) text += stops.push(decoder.finish());
    if (ends || full) text += stops.finish();
    if (ends || stops.stopped()) answer.finish_reason = FinishReason::stop;
    deliver(turn, index, id, text, answer);

    last_token = turn.stages.now();
    if (index == 0) first_token = last_token;
    if (ends || full || stops.stopped()) break;
    seen = seen || (turn.on_piece && !text.empty());
    if (seen) turn.stages.stage("decode", index + 1);
    if (turn.cancel.stop_requested()) {
      cancelled = true;
    } else if (row < drafted_.size() && drafted_[row] == id) {  // its logits are there already
      cached_.push_back(id);
      ++row;
    } else {
      logits = decode(turn, id, answer, room - index - 1, sampler);
      row = 0;
    }
  }
  if (cancelled) answer.finish_reason = FinishReason::cancelled;
  if (answer.ids.size() < 2) return {};
  return static_cast<double>(last_token - first_token) / static_cast<double>(answer.ids.size() - 1);
}

}  // namespace diecast
