// A string that knows which of its bytes somebody typed.
// Every operation of the template language builds its result from slices of these, so that what came from a message is still
// marked when it reaches the prompt: a marker inside content can never become a control token, whatever the template does.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <diecast/chat/prompt_text.hpp>
#include <diecast/error.hpp>

namespace diecast::chat {

class Text {
 public:
  Text() = default;
  static Text plain(std::string bytes) { return Text(std::move(bytes), {}); }
  static Text all_typed(std::string bytes) {
    std::vector<Range> typed;
    if (!bytes.empty()) typed.push_back({0, bytes.size()});
    return Text(std::move(bytes), std::move(typed));
  }

  std::string_view view() const noexcept { return bytes_; }
  const std::string& bytes() const noexcept { return bytes_; }
  std::size_t size() const noexcept { return bytes_.size(); }
  bool empty() const noexcept { return bytes_.empty(); }
  const std::vector<Range>& typed() const noexcept { return typed_; }

  bool any_typed() const noexcept { return !typed_.empty(); }
  bool any_typed(std::size_t begin, std::size_t end) const noexcept {
    const auto range = first_after(begin);
    return range != typed_.end() && range->begin < end;
  }

  void append(std::string_view bytes, bool is_typed) {
    if (bytes.empty()) return;
    if (is_typed) mark(bytes_.size(), bytes_.size() + bytes.size());
    bytes_.append(bytes);
  }

  void append(const Text& other, std::size_t begin, std::size_t end) {
    if (begin >= end) return;
    const std::size_t base = bytes_.size();
    for (auto range = other.first_after(begin); range != other.typed_.end() && range->begin < end; ++range) {
      mark(base + (std::max)(range->begin, begin) - begin, base + (std::min)(range->end, end) - begin);
    }
    bytes_.append(other.bytes_, begin, end - begin);
  }

  Text slice(std::size_t begin, std::size_t end) const {
    Text part;
    part.append(*this, begin, end);
    return part;
  }

  // Marked by the filters `safe` and `escape`.
  bool is_markup() const noexcept { return markup_; }
  Text as_markup() const {
    Text marked = *this;
    marked.markup_ = true;
    return marked;
  }

  PromptText to_prompt() && { return {std::move(bytes_), std::move(typed_)}; }

 private:
  Text(std::string bytes, std::vector<Range> typed) : bytes_(std::move(bytes)), typed_(std::move(typed)) {}

  std::vector<Range>::const_iterator first_after(std::size_t begin) const noexcept {
    return std::upper_bound(typed_.begin(), typed_.end(), begin, [](std::size_t at, const Range& range) { return at < range.end; });
  }

  void mark(std::size_t begin, std::size_t end) {
    if (!typed_.empty() && typed_.back().end == begin) {
      typed_.back().end = end;
    } else {
      typed_.push_back({begin, end});
    }
  }

  std::string bytes_;
  bool markup_ = false;
  std::vector<Range> typed_;  // ascending, disjoint, not touching, not empty
};

}  // namespace diecast::chat
