// What step 1 hands to step 2: the text of the whole prompt, and which bytes of it somebody typed.
// Control markers are recognised only where no byte was typed, so that content can never become a control token;
// ordinary tokens are free to span the border, as they do when the model was trained.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace diecast {

struct Range {
  std::size_t begin;
  std::size_t end;  // one past the last byte
  bool operator==(const Range&) const = default;
};

struct PromptText {
  std::string text;
  std::vector<Range> typed;  // ascending, disjoint, not empty
};

// A prompt without a template: all of it was typed, no marker counts.
inline PromptText plain_text(std::string text) {
  PromptText prompt{std::move(text), {}};
  if (!prompt.text.empty()) prompt.typed.push_back({0, prompt.text.size()});
  return prompt;
}

}  // namespace diecast
