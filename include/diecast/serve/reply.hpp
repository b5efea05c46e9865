// The JSON of answers, in the shapes of OpenAI's two completion endpoints, streamed or whole. `timing` is ours: milliseconds whose decimals are
// whole nanoseconds; the stages touch, so they add up to `ttft`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <diecast/generate/answer.hpp>
#include <diecast/sample/logprobs.hpp>
#include <diecast/serve/http_error.hpp>
#include <diecast/tokens/tokenizer.hpp>
#include <diecast/tokens/utf8.hpp>
#include <diecast/trace/timing.hpp>

namespace diecast::serve {

inline double milliseconds(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

inline Json timing_json(const Timing& timing) {
  Json ms = Json::object();
  for (const StageTime& stage : timing.stages) ms[stage.name] = milliseconds(stage.ns);
  ms["ttft"] = milliseconds(timing.ttft_ns);
  if (timing.decode_per_token_ns) ms["decode_per_token"] = *timing.decode_per_token_ns / 1e6;
  return ms;
}

inline Json usage_json(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}}};
}

// What a token is called beside its log-probability: the bytes that it writes, a control token's name.
inline std::string_view token_bytes(const Tokenizer& tokenizer, int id) { return tokenizer.is_control(id) ? tokenizer.piece(id) : tokenizer.bytes(id); }

// A list in the shape of the endpoint. `before`: characters of the answer that earlier tokens wrote; moves on.
class LogprobsJson {
 public:
  LogprobsJson(bool chat, const Tokenizer& tokenizer) : chat_(chat), tokenizer_(tokenizer) {}

  Json operator()(std::span<const TokenLogprobs> tokens, std::size_t& before) const {
    if (chat_) {
      Json content = Json::array();
      for (const TokenLogprobs& token : tokens) {
        Json one = chat_token(token.id, token.logprob);
        one["top_logprobs"] = Json::array();
        for (const TokenLogprob& top : token.top) one["top_logprobs"].push_back(chat_token(top.id, top.logprob));
        content.push_back(std::move(one));
      }
      return {{"content", std::move(content)}, {"refusal", nullptr}};
    }
    Json names = Json::array(), values = Json::array(), tops = Json::array(), offsets = Json::array();
    for (const TokenLogprobs& token : tokens) {
      const std::string text = name(token.id);
      names.push_back(text);
      values.push_back(token.logprob);
      Json top = Json::object();
      for (const TokenLogprob& one : token.top) top.emplace(name(one.id), one.logprob);  // of two that read alike, the likelier
      tops.push_back(std::move(top));
      offsets.push_back(before);
      if (!tokenizer_.is_control(token.id)) before += characters(text);
    }
    return {{"tokens", std::move(names)}, {"token_logprobs", std::move(values)}, {"top_logprobs", std::move(tops)}, {"text_offset", std::move(offsets)}};
  }

 private:
  std::string name(int id) const { return replace_invalid_utf8(token_bytes(tokenizer_, id)); }
  Json chat_token(int id, double logprob) const {
    Json bytes = Json::array();
    for (const char byte : token_bytes(tokenizer_, id)) bytes.push_back(static_cast<unsigned char>(byte));
    return {{"token", name(id)}, {"logprob", logprob}, {"bytes", std::move(bytes)}};
  }
  static std::size_t characters(std::string_view text) {
    std::size_t count = 0;
    for (const char byte : text) count += (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
    return count;
  }

  bool chat_;
  const Tokenizer& tokenizer_;
};

// What all events of one response have in common.
class ReplyJson {
 public:
  ReplyJson(bool chat, bool stream, const std::string& id, const std::string& model, const std::string& fingerprint) : chat_(chat), stream_(stream) {
    common_ = {{"id", (chat ? "chatcmpl-" : "cmpl-") + id},
               {"object", !chat ? "text_completion" : stream ? "chat.completion.chunk" : "chat.completion"},
               {"created", static_cast<std::int64_t>(std::time(nullptr))},
               {"model", model},
               {"system_fingerprint", fingerprint}};
  }

  // One choice of a response, or of an event: text absent: nothing new; reason empty: it goes on.
  Json choice(std::uint32_t index, const std::optional<std::string>& text, bool begins, Json logprobs, std::string_view reason) const {
    Json one{{"index", index}};
    if (!chat_) {
      one["text"] = text.value_or("");
    } else {
      Json said = Json::object();
      if (begins) said["role"] = "assistant";
      if (text) said["content"] = *text;
      if (!stream_) said["refusal"] = nullptr;
      one[stream_ ? "delta" : "message"] = std::move(said);
    }
    one["logprobs"] = std::move(logprobs);
    one["finish_reason"] = reason.empty() ? Json() : Json(reason);
    return one;
  }
  Json with(Json choices) const {
    Json json = common_;
    json["choices"] = std::move(choices);
    return json;
  }

 private:
  bool chat_, stream_;
  Json common_;
};

inline std::string sse(const Json& event) { return "data: " + dump(event) + "\n\n"; }

}  // namespace diecast::serve
