// Drafting without a second model: what followed the last few tokens when they stood in the sequence before. A drafted token counts only if it is
// the one that would have been chosen, so the answer is the same; where text repeats itself, several tokens come out of one pass.
// Source: prompt lookup decoding (Saxena 2023).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace diecast {

// At most `most` tokens that stood behind the latest earlier occurrence of the history's last three, else two, tokens.
inline std::vector<int> draft_from(std::span<const int> history, int most) {
  for (const std::size_t pattern : {std::size_t{3}, std::size_t{2}}) {
    if (most < 1 || history.size() <= pattern) continue;
    const auto last = history.last(pattern);
    const auto before = history.first(history.size() - 1);  // an occurrence has something behind it
    const auto found = std::find_end(before.begin(), before.end(), last.begin(), last.end());
    if (found == before.end()) continue;
    const auto behind = history.subspan(static_cast<std::size_t>(found - before.begin()) + pattern);
    const auto taken = behind.first((std::min)(behind.size(), static_cast<std::size_t>(most)));
    return {taken.begin(), taken.end()};
  }
  return {};
}

}  // namespace diecast
