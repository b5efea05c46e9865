// From ids back to text, token by token. A character may be spread over tokens: a stream shows it when it is whole, never half.
// Each maximal invalid part becomes one U+FFFD, as soon as it is known that nothing can mend it. All deltas joined are the text of the whole list.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <diecast/tokens/tokenizer.hpp>
#include <diecast/tokens/utf8.hpp>

namespace diecast {

class StreamDecoder {
 public:
  // The tokenizer must live as long as the decoder.
  explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(&tokenizer), at_start_(tokenizer.strips_first_space()) {}

  // The text that this token makes visible: empty, perhaps.
  std::string next(int id) {
    std::string_view bytes = tokenizer_->bytes(id);
    if (at_start_ && !bytes.empty()) {
      if (bytes.front() == ' ') bytes.remove_prefix(1);
      at_start_ = false;
    }
    pending_ += bytes;
    return take(false);
  }

  // What is left at the end: half a character becomes U+FFFD. Afterwards the decoder is as new.
  std::string finish() {
    std::string text = take(true);
    at_start_ = tokenizer_->strips_first_space();
    return text;
  }

 private:
  std::string take(bool at_end) {
    std::size_t whole = 0;
    while (whole < pending_.size()) {
      const Utf8 character = decode_utf8(pending_, whole);
      if (character.state == Utf8State::incomplete && !at_end) break;
      whole += character.length;
    }
    std::string text = replace_invalid_utf8(std::string_view(pending_).substr(0, whole));
    pending_.erase(0, whole);
    return text;
  }

  const Tokenizer* tokenizer_;
  std::string pending_;  // bytes of a character that is not whole yet: at most three between calls
  bool at_start_;        // no byte was written yet, and a leading space is to be taken off
};

inline std::string decode(const Tokenizer& tokenizer, std::span<const int> ids) {
  StreamDecoder decoder(tokenizer);
  std::string text;
  for (const int id : ids) text += decoder.next(id);
  return text + decoder.finish();
}

}  // namespace diecast
