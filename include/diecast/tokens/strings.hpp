// Many strings in one block of memory, in order. A vocabulary has 50,000 to 250,000 pieces of a few bytes each: as objects of their own they
// cost an allocation each, and an engine would wait for them when it starts.
#pragma once

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
  static constexpr std::size_t margin = 8;  // so many bytes behind each string may be read, and behind the last one written: whole words

  // Room for so many strings of so many bytes in all.
  Strings(std::size_t most_strings, std::size_t most_bytes) : block_(most_bytes + margin, '\0') {
    if (most_bytes > (std::numeric_limits<std::uint32_t>::max)()) {
      throw Error("the pieces of the tokenizer take " + std::to_string(most_bytes) + " bytes, more than 4 GiB");
    }
    begins_.reserve(most_strings + 1);
    begins_.push_back(0);
  }

  // Where the next string goes, and that it is there now.
  char* room() { return block_.data() + begins_.back(); }
  void push_back(std::size_t bytes_in_room) { begins_.push_back(begins_.back() + static_cast<std::uint32_t>(bytes_in_room)); }

  std::size_t size() const { return begins_.size() - 1; }
  std::size_t bytes() const { return begins_.back(); }
  std::string_view operator[](std::size_t index) const { return {block_.data() + begins_[index], begins_[index + 1] - begins_[index]}; }

 private:
  std::string block_;
  std::vector<std::uint32_t> begins_;  // and where the next would begin
};

}  // namespace diecast
