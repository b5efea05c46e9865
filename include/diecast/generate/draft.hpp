// Drafting without a second model: what followed the last tokens when they stood in the sequence before. A drafted token counts only if it is
// the one that would have been chosen, so the answer is the same; where text repeats itself, several tokens come out of one pass. A wrong guess costs
// its row of the pass, half a pass on a CPU, so a drafter guesses the further the more often it was right, and asks for longer matches where it was not.
// Source: prompt lookup decoding (Saxena 2023).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace diecast {

// `most` tokens that stood behind the longest earlier occurrence of the history's last tokens, the latest of equally long ones, and behind the end of the
// history the first of them again: what goes in a circle stays in it. Nothing where that occurrence is shorter than `needed`. More than 16 are not compared.
inline std::vector<int> draft_from(std::span<const int> history, int most, std::size_t needed = 2) {
  constexpr std::size_t longest = 16;
  if (most < 1 || history.size() < 2) return {};
  const auto match = [&](std::size_t end) {
    std::size_t length = 0;
    while (length < (std::min)(longest, end) && history[end - 1 - length] == history[history.size() - 1 - length]) ++length;
    return length;
  };
  std::size_t best = 0, behind = 0;
  for (std::size_t end = history.size() - 1; end >= 1 && best < longest; --end) {  // an occurrence has something behind it
    const std::size_t length = match(end);
    if (length > best) {
      best = length;
      behind = end;
    }
  }
  if (best < (std::max)(needed, std::size_t{1})) return {};
  std::vector<int> drafted;
  for (std::size_t i = behind; drafted.size() < static_cast<std::size_t>(most); ++i) drafted.push_back(i < history.size() ? history[i] : drafted[i - history.size()]);
  return drafted;
}

// What one sequence's drafts were worth so far decides its next ones.
class Drafter {
 public:
  std::vector<int> draft(std::span<const int> history, int most) const { return draft_from(history, (std::min)(most, reach_), needed_); }

  // Of so many drafted tokens so many were right.
  void judge(std::size_t drafted, std::size_t right) {
    if (drafted == 0) return;
    if (right == drafted) {
      reach_ = (std::min)(2 * reach_, most_reach);
      needed_ = (std::max)(needed_ - 1, least_needed);
    } else {
      reach_ = (std::max)(static_cast<int>(right), 1);
      if (right == 0) needed_ = (std::min)(needed_ + 1, most_needed);
    }
  }

 private:
  static constexpr int most_reach = 1024;
  static constexpr std::size_t least_needed = 2, most_needed = 8;

  int reach_ = 4;
  std::size_t needed_ = 3;
};

}  // namespace diecast
