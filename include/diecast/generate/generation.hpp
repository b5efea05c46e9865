// One answer while it grows: logits come in, a token with the text that it makes visible goes out, until something ends it. Sampler, stop
// strings, streaming decoder, log-probabilities and stages have their one place here; a session and a scheduler differ in who runs the model.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <diecast/backend/backend.hpp>
#include <diecast/error.hpp>
#include <diecast/generate/answer.hpp>
#include <diecast/generate/stop.hpp>
#include <diecast/sample/candidate.hpp>
#include <diecast/sample/logprobs.hpp>
#include <diecast/sample/sampler.hpp>
#include <diecast/tokens/detokenizer.hpp>
#include <diecast/tokens/tokenizer.hpp>
#include <diecast/trace/timing.hpp>
#include <diecast/trace/trace.hpp>

namespace diecast {

// What answers of one engine have in common.
struct Speech {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::vector<int> eos;  // every id that ends an answer, of all sources
  int vocabulary;        // ids that may be sampled: the tokenizer's, as far as the model has them

  Speech(std::shared_ptr<const Tokenizer> of, std::vector<int> ends, int model_vocabulary)
      : tokenizer(std::move(of)), eos(std::move(ends)), vocabulary((std::min)(tokenizer->size(), model_vocabulary)) {
    if (tokenizer->eos) eos.push_back(*tokenizer->eos);
  }
};

// Refuses what could not be answered whatever the prompt.
inline void check(const Request& request) {
  if (request.max_tokens < 1) throw Error("max_tokens is " + std::to_string(request.max_tokens) + " but must be at least 1");
  if (request.logprobs && *request.logprobs < 0) throw Error("logprobs is " + std::to_string(*request.logprobs) + " but cannot be negative");
}

// A prompt that is as long as the context or longer; a shorter one would have been answered.
class PromptTooLong : public Error {
 public:
  PromptTooLong(std::size_t tokens, int context)
      : Error("the prompt has " + std::to_string(tokens) + " tokens, the context holds " + std::to_string(context)), tokens_(tokens) {}
  std::size_t tokens() const noexcept { return tokens_; }

 private:
  std::size_t tokens_;
};

// Step 2. Refuses a prompt without tokens, and one that is longer than the context.
inline std::vector<int> prompt_ids(const Request& request, const Tokenizer& tokenizer, int context_tokens, Trace& stages) {
  std::vector<int> ids;
  if (const auto* given = std::get_if<std::vector<int>>(&request.prompt)) {
    ids = *given;
  } else {
    stages.stage("tokenize");
    ids = tokenizer.encode(std::get<PromptText>(request.prompt));
    put_bos(tokenizer, ids);
  }
  if (ids.empty()) throw Error("the prompt has no tokens");
  if (ids.size() > static_cast<std::size_t>(context_tokens)) throw PromptTooLong(ids.size(), context_tokens);
  return ids;
}

class Generation {
 public:
  // room: tokens that prompt and answer may have together. `speech` must live as long.
  Generation(const Speech& speech, const Request& request, std::vector<int> prompt, int context_tokens)
      : speech_(&speech), stops_(request.stop), sampler_(request.sampling, speech.vocabulary, prompt, request.choice), decoder_(*speech.tokenizer),
        logprobs_(request.logprobs), room_((std::min)(request.max_tokens, context_tokens - static_cast<int>(prompt.size()))) {
    answer_.choice = request.choice;
    answer_.usage.prompt_tokens = static_cast<int>(prompt.size());
    answer_.prompt_ids = std::move(prompt);
    ended_ = room_ == 0;
  }

  // What of the next logits suffices, or of those after so many tokens more: with log-probabilities all of them are needed.
  Best needs(int later = 0) const { return logprobs_ ? Best{} : sampler_.needs(later); }

  // The next token, from this row of the model's logits. The piece is valid until the next call. The first one ends the stage that runs:
  // `sample` begins, then `send`. `inner` gets an inner span for each further choice.
  Piece next(const Logits& logits, std::size_t row, Trace& stages, Trace* inner = nullptr) {
    const int index = static_cast<int>(answer_.ids.size());
    if (index == 0) stages.stage("sample");
    const int id = choose(logits, row, index == 0 ? nullptr : inner);
    if (index == 0) stages.stage("send");
    const bool ends = std::find(speech_->eos.begin(), speech_->eos.end(), id) != speech_->eos.end();
    const bool full = index + 1 == room_;
    text_ = ends ? std::string() : stops_.push(decoder_.next(id));
    if ((ends || full) && !stops_.stopped()) text_ += stops_.push(decoder_.finish());
    if (ends || full) text_ += stops_.finish();
    if (ends || stops_.stopped()) answer_.finish_reason = FinishReason::stop;
    ended_ = ends || full || stops_.stopped();
    answer_.text += text_;
    return {index, id, text_, logprobs_ ? &answer_.logprobs.back() : nullptr, answer_.choice};
  }

  // The last piece is with the caller. `send` is over with the first text that somebody has seen; then each further token is a `decode`.
  void delivered(Trace& stages, bool streamed) {
    last_token_ = stages.now();
    if (answer_.ids.size() == 1) first_token_ = last_token_;
    seen_ = seen_ || (streamed && !text_.empty());
    if (seen_ && !ended_) stages.stage("decode", static_cast<int>(answer_.ids.size()));
  }

  bool ended() const { return ended_; }
  int room() const { return room_; }  // tokens that the answer may have
  const Answer& answer() const { return answer_; }
  void cached(int tokens) { answer_.usage.cached_tokens = tokens; }

  // Ends the last stage and gives the answer away. `reason`: why it ends before its time.
  Answer finish(Trace& stages, std::optional<FinishReason> reason = {}) {
    if (reason) answer_.finish_reason = *reason;
    answer_.usage.completion_tokens = static_cast<int>(answer_.ids.size());
    stages.end_stage();
    answer_.timing = time_to_first_token(stages);
    if (answer_.ids.size() > 1) answer_.timing.decode_per_token_ns = static_cast<double>(last_token_ - first_token_) / static_cast<double>(answer_.ids.size() - 1);
    return std::move(answer_);
  }

 private:
  int choose(const Logits& logits, std::size_t row, Trace* inner) {
    const Trace::Scope scope(inner, "sample");
    const int id = logits.best.empty() ? sampler_.sample(logits.row(static_cast<int>(row))) : sampler_.sample(logits.best[row]);
    answer_.ids.push_back(id);
    if (logprobs_) answer_.logprobs.push_back(token_logprobs(logits.row(static_cast<int>(row)), speech_->vocabulary, id, *logprobs_));
    return id;
  }

  const Speech* speech_;
  StopStrings stops_;
  Sampler sampler_;
  StreamDecoder decoder_;
  std::optional<int> logprobs_;
  int room_;
  Answer answer_;
  std::string text_;  // of the last piece
  bool ended_ = false, seen_ = false;  // seen: the time to the first token is over
  std::int64_t first_token_ = 0, last_token_ = 0;
};

}  // namespace diecast
