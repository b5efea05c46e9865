// Added tokens: pieces that are found in the text before the tokenizer proper runs, leftmost first, the longest of those that begin
// there. A control marker counts only where nobody typed a byte of it; the others count everywhere.
// lstrip, rstrip and single_word mean what they mean in the tokenizers package.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <diecast/chat/prompt_text.hpp>
#include <diecast/files/model.hpp>
#include <diecast/tokens/unicode.hpp>
#include <diecast/tokens/utf8.hpp>

namespace diecast {

struct Segment {
  Range range;
  int id;  // of the added token; -1: text between them
};

namespace detail {

inline bool ends_with_word(std::string_view text) {
  std::size_t at = text.size();
  if (at == 0) return false;
  do --at;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
  return unicode::is_word(decode_utf8(text, at).code_point);
}
inline bool begins_with_word(std::string_view text) { return !text.empty() && unicode::is_word(decode_utf8(text, 0).code_point); }

// Where the white space at the end of the text begins.
inline std::size_t trailing_space(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t at = end - 1;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
    const Utf8 character = decode_utf8(text, at);
    if (character.length != end - at || !unicode::is_white_space(character.code_point)) break;
    end = at;
  }
  return end;
}
inline std::size_t leading_space(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Utf8 character = decode_utf8(text, at);
    if (!unicode::is_white_space(character.code_point)) break;
    at += character.length;
  }
  return at;
}

}  // namespace detail

class AddedTokens {
 public:
  explicit AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
    std::erase_if(tokens_, [](const AddedToken& token) { return token.content.empty(); });
    std::stable_sort(tokens_.begin(), tokens_.end(), [](const AddedToken& a, const AddedToken& b) { return a.content < b.content; });
    for (const AddedToken& token : tokens_) begins_[static_cast<unsigned char>(token.content.front())] = true;
  }

  bool empty() const { return tokens_.empty(); }
  std::span<const AddedToken> sorted() const { return tokens_; }

  // Splits part of a prompt; segments of text are never empty.
  void split(const PromptText& prompt, Range part, std::vector<Segment>& out) const {
    const std::string_view text = std::string_view(prompt.text).substr(0, part.end);
    std::size_t done = part.begin;
    std::size_t typed = 0;
    for (std::size_t at = part.begin; at < part.end;) {
      while (typed < prompt.typed.size() && prompt.typed[typed].end <= at) ++typed;
      const std::size_t free_until = typed < prompt.typed.size() ? prompt.typed[typed].begin : part.end;
      const AddedToken* token = begins_[static_cast<unsigned char>(text[at])] ? longest(text, at, free_until) : nullptr;
      if (!token) {
        ++at;
        continue;
      }
      std::size_t begin = at;
      std::size_t end = at + token->content.size();
      at = end;
      const std::string_view before = text.substr(part.begin, begin - part.begin);
      if (token->single_word && (detail::ends_with_word(before) || detail::begins_with_word(text.substr(end)))) continue;
      if (token->lstrip) begin = std::max(done, done + detail::trailing_space(text.substr(done, begin - done)));
      if (token->rstrip) end += detail::leading_space(text.substr(end));
      if (done < begin) out.push_back({{done, begin}, -1});
      out.push_back({{begin, end}, token->id});
      at = done = end;
    }
    if (done < part.end) out.push_back({{done, part.end}, -1});
  }

 private:
  // Narrows the sorted list byte by byte; a control marker must end before `free_until`, where typed text begins.
  const AddedToken* longest(std::string_view text, std::size_t at, std::size_t free_until) const {
    const AddedToken* found = nullptr;
    auto first = tokens_.begin();
    auto last = tokens_.end();
    for (std::size_t depth = 0; first != last; ++depth) {
      if (first->content.size() == depth) {
        if (!first->special || at + depth <= free_until) found = &*first;
        while (first != last && first->content.size() == depth) ++first;
      }
      if (at + depth == text.size()) break;
      const auto key = static_cast<unsigned char>(text[at + depth]);
      const auto byte = [depth](const AddedToken& token) { return static_cast<unsigned char>(token.content[depth]); };
      first = std::lower_bound(first, last, key, [&](const AddedToken& token, unsigned char value) { return byte(token) < value; });
      last = std::upper_bound(first, last, key, [&](unsigned char value, const AddedToken& token) { return value < byte(token); });
    }
    return found;
  }

  std::vector<AddedToken> tokens_;
  std::array<bool, 256> begins_{};
};

}  // namespace diecast
