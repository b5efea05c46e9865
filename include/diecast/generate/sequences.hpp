// What a scheduler knows of each answer that it was asked for, and the order among them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <diecast/generate/draft.hpp>
#include <diecast/generate/generation.hpp>
#include <diecast/generate/prefix_cache.hpp>
#include <diecast/generate/scheduling.hpp>
#include <diecast/trace/trace.hpp>

namespace diecast::detail {

// What the choices of a request share.
struct Group {
  RequestEvents events;
  std::string salt;
  bool reading = false;  // one of them computes the prompt for all
};

struct Sequence {
  std::shared_ptr<Group> group;
  Generation generation;
  Trace trace;
  std::optional<Trace::clock::time_point> deadline;
  bool inner_spans;
  std::vector<int> ids;  // prompt and answer: what belongs into the cache, in order
  Ticket ticket = 0;
  int handle = -1;              // in the block table, while it runs
  PrefixCache::Place place{};
  Drafter drafter{};
  bool sent_back = false;  // it ran once and was computed in part: what the cache knows of it is no hit
  bool reads = false;      // the prompt, for its group
  bool over = false;

  const RequestEvents& events() const { return group->events; }
  std::uint32_t choice() const { return generation.answer().choice; }
  std::int64_t tokens() const { return generation.answer().usage.prompt_tokens + generation.room(); }  // that it may have in the end
  bool answers() const { return !generation.answer().ids.empty(); }
  int left() const { return generation.room() - static_cast<int>(generation.answer().ids.size()); }  // tokens that the answer may still have
  bool waits_for_another() const { return group->reading && !answers(); }
  Trace* inner() { return inner_spans ? &trace : nullptr; }
  bool older_than(const Sequence& other) const { return std::pair(ticket, choice()) < std::pair(other.ticket, other.choice()); }
};
using Sequences = std::vector<std::unique_ptr<Sequence>>;  // the oldest first

inline void put_in_order(Sequences& among, std::unique_ptr<Sequence> s) {
  const auto place = std::find_if(among.begin(), among.end(), [&](const auto& other) { return s->older_than(*other); });
  among.insert(place, std::move(s));
}

// Of a step: these ids of a sequence, and what may follow them.
struct Part {
  Sequence* sequence;
  int first, count;
  std::vector<int> drafts{};
  int rows() const { return count + static_cast<int>(drafts.size()); }
  bool asks() const { return static_cast<std::size_t>(first + count) == sequence->ids.size(); }
};

}  // namespace diecast::detail
