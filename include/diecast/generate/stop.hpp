// Why an answer ends, and the search for stop strings in text that arrives in pieces: what may be the beginning of a stop string
// is held back until it is known. All strings are followed at once (Knuth, Morris, Pratt 1977), so the time is linear and the cut
// does not depend on how the text was split. The string that is complete first ends the answer; of several complete at once, the longest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <diecast/error.hpp>

namespace diecast {

enum class FinishReason {
  stop,       // an end-of-sequence token or a stop string
  length,     // max_tokens or the context
  cancelled,  // the caller went away
  deadline,   // the caller's time is over
};

constexpr std::string_view name(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop: return "stop";
    case FinishReason::length: return "length";
    case FinishReason::cancelled: return "cancelled";
    case FinishReason::deadline: return "deadline";
  }
  return "?";
}

class StopStrings {
 public:
  explicit StopStrings(std::vector<std::string> strings) {
    for (std::string& text : strings) {
      if (text.empty()) throw Error("a stop string is empty");
      if ((static_cast<unsigned char>(text.front()) & 0xC0) == 0x80)  // else a cut could leave half a character
        throw Error("a stop string begins in the middle of a UTF-8 character");
      patterns_.emplace_back(std::move(text));
    }
  }

  // Takes the next text; returns what is now certain to belong to the answer.
  std::string push(std::string_view text) {
    if (stopped_) return {};
    for (const char byte : text) {
      held_.push_back(byte);
      std::size_t complete = 0;
      for (Pattern& pattern : patterns_)
        if (pattern.step(byte)) complete = (std::max)(complete, pattern.text.size());
      if (complete > 0) {
        stopped_ = true;
        held_.resize(held_.size() - complete);
        return std::exchange(held_, {});
      }
    }
    std::size_t possible = 0;
    for (const Pattern& pattern : patterns_) possible = (std::max)(possible, pattern.matched);
    std::string certain = held_.substr(0, held_.size() - possible);
    held_.erase(0, certain.size());
    return certain;
  }

  // No text follows: the rest.
  std::string finish() { return std::exchange(held_, {}); }

  bool stopped() const { return stopped_; }

 private:
  struct Pattern {
    explicit Pattern(std::string pattern) : text(std::move(pattern)), border(text.size() + 1, 0) {
      for (std::size_t i = 1, k = 0; i < text.size(); ++i) {
        while (k > 0 && text[i] != text[k]) k = border[k];
        if (text[i] == text[k]) ++k;
        border[i + 1] = k;
      }
    }
    // Whether this byte completes the string.
    bool step(char byte) {
      while (matched > 0 && text[matched] != byte) matched = border[matched];
      if (text[matched] == byte) ++matched;
      return matched == text.size();
    }
    std::string text;
    std::vector<std::size_t> border;  // [n]: the longest proper prefix of the first n bytes that also ends them
    std::size_t matched = 0;          // bytes of the string that the text so far ends with
  };

  std::vector<Pattern> patterns_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace diecast
