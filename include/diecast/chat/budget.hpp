// What one rendering may use. A template is part of a downloaded file: it may neither loop for ever nor eat memory.
// Bytes are counted as they are built and never given back, so the limit bounds the memory and the copying at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <diecast/chat/text.hpp>
#include <diecast/error.hpp>

namespace diecast {

struct RenderLimits {
  std::uint64_t steps = 20'000'000;        // evaluated nodes and visited items
  std::size_t bytes = std::size_t{256} << 20;    // text and items built, those thrown away too
  std::size_t output = std::size_t{64} << 20;    // bytes of the prompt
  int depth = 250;                         // expressions, statements and calls inside each other
};

namespace chat {

// Thrown by operations that do not know where in the template they are; the interpreter adds the line and the column.
struct Failure : Error {
  using Error::Error;
};

[[noreturn]] inline void fail(const std::string& sentence) { throw Failure(sentence); }

class Budget {
 public:
  explicit Budget(const RenderLimits& limits) : limits_(limits) {}

  void step(std::uint64_t count = 1) {
    if (count > limits_.steps - steps_) {
      fail("the rendering takes more than " + std::to_string(limits_.steps) + " steps, the limit for a chat template");
    }
    steps_ += count;
  }

  void build(std::size_t bytes) {
    if (bytes > limits_.bytes - bytes_) too_much();
    bytes_ += bytes;
  }

  [[noreturn]] void too_much() const {
    fail("the rendering builds more than " + std::to_string(limits_.bytes) + " bytes, the limit for a chat template");
  }

  // Refuses at once what many small steps would refuse late.
  void fits(std::size_t bytes, std::size_t count) const {
    if (count > limits_.bytes / bytes) too_much();
  }

  const RenderLimits& limits() const noexcept { return limits_; }

 private:
  RenderLimits limits_;
  std::uint64_t steps_ = 0;
  std::size_t bytes_ = 0;
};

// The only way to build text while rendering: each byte is paid before it is written.
class TextBuilder {
 public:
  explicit TextBuilder(Budget& budget) : budget_(&budget) {}

  TextBuilder& add(std::string_view bytes, bool is_typed = false) {
    budget_->build(bytes.size());
    text_.append(bytes, is_typed);
    return *this;
  }
  TextBuilder& add(const Text& text) { return add(text, 0, text.size()); }
  TextBuilder& add(const Text& text, std::size_t begin, std::size_t end) {
    if (begin < end) {
      budget_->build(end - begin + sizeof(Range) * 2);
      text_.append(text, begin, end);
    }
    return *this;
  }
  TextBuilder& repeat(const Text& text, std::size_t count) {
    if (text.empty() || count == 0) return *this;
    budget_->fits(text.size(), count);
    for (std::size_t i = 0; i < count; ++i) add(text);
    return *this;
  }

  std::size_t size() const noexcept { return text_.size(); }
  const Text& text() const noexcept { return text_; }
  Text take() { return std::exchange(text_, Text{}); }
  Budget& budget() const noexcept { return *budget_; }

 private:
  Budget* budget_;
  Text text_;
};

}  // namespace chat
}  // namespace diecast
