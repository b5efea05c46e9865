// What is asked of a session and what comes back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <diecast/chat/prompt_text.hpp>
#include <diecast/generate/stop.hpp>
#include <diecast/sample/logprobs.hpp>
#include <diecast/sample/options.hpp>
#include <diecast/trace/timing.hpp>

namespace diecast {

struct Request {
  std::variant<PromptText, std::vector<int>> prompt{};  // text is tokenized and gets its one BOS; ids are taken as they are
  SamplingOptions sampling{};
  int max_tokens = 256;
  std::vector<std::string> stop{};
  std::optional<int> logprobs{};  // how many of the likeliest to report beside each chosen token; absent: no log-probabilities
  std::uint32_t choice = 0;       // which of several answers to the same request: it moves the draw
};

struct Usage {
  int prompt_tokens = 0;
  int completion_tokens = 0;  // every sampled id, the stopping one too
  int cached_tokens = 0;      // of the prompt: taken from the cache, not computed
};

// One sampled token on its way out. The texts of all pieces joined are the answer's text.
struct Piece {
  int index;              // in the answer, from 0
  int id;
  std::string_view text;  // what has become visible: often the token's text, empty while a character or a stop string is incomplete
  const TokenLogprobs* logprobs;  // null where none were asked for
  std::uint32_t choice = 0;       // of the answer that it belongs to
};

struct Answer {
  std::string text;
  std::vector<int> ids;
  std::vector<int> prompt_ids;
  FinishReason finish_reason = FinishReason::length;
  Usage usage;
  std::vector<TokenLogprobs> logprobs;  // one for each id, where they were asked for
  Timing timing;
  std::uint32_t choice = 0;  // the request's
};

}  // namespace diecast
