// Many strings in one block of memory, in order. A vocabulary has 50,000 to 250,000 pieces of a few bytes each: as objects of their own they
// cost an allocation each, and an engine would wait for them when it starts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <diecast/error.hpp>

namespace diecast {

class Strings {
 public:
  static constexpr std::size_t margin = 16;  // so many bytes behind each string may be read, and behind the last one written: whole words will do

  void reserve(std::size_t strings, std::size_t bytes) {
    ends_.reserve(strings);
    if (bytes + margin > block_.size()) block_.resize(bytes + margin);
  }

  // Appends what `write` writes: it gets room for `most` bytes and returns how many it wrote.
  template <class Write>
  void append(std::size_t most, Write&& write) {
    if (block_.size() < used_ + most + margin) block_.resize((std::max)(block_.size() * 2, used_ + most + margin));
    used_ += write(block_.data() + used_);
    if (used_ > (std::numeric_limits<std::uint32_t>::max)()) throw Error("the pieces of a vocabulary take more than 4 GiB");
    ends_.push_back(static_cast<std::uint32_t>(used_));
  }
  void append(std::string_view text) {
    append(text.size(), [&](char* out) { return text.copy(out, text.size()); });
  }

  std::size_t size() const { return ends_.size(); }
  std::size_t bytes() const { return used_; }
  std::string_view operator[](std::size_t index) const {
    const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
    return {block_.data() + begin, ends_[index] - begin};
  }

 private:
  std::string block_;  // what lies behind used_ is room
  std::size_t used_ = 0;
  std::vector<std::uint32_t> ends_;
};

}  // namespace diecast
