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
#include <diecast/files/arrays.hpp>

namespace diecast {

class Strings {
 public:
  static constexpr std::size_t margin = 8;  // so many bytes behind each string may be read, and behind the last one written: whole words

  // Room for so many strings of so many bytes in all.
  Strings(std::size_t most_strings, std::size_t most_bytes) : block_(std::vector<char>(checked(most_bytes) + margin)), begins_(std::vector<std::uint32_t>(most_strings + 1)) {}

  // As save() left them.
  explicit Strings(ArrayReader& from) : block_(from.get<char>("the bytes of pieces")), begins_(from.get<std::uint32_t>("the beginnings of pieces")) {
    if (begins_.size() == 0 || begins_[0] != 0) from.fail("its pieces do not begin at byte 0");
    size_ = begins_.size() - 1;
    for (std::size_t i = 0; i < size_; ++i)
      if (begins_[i + 1] < begins_[i]) from.fail("piece " + std::to_string(i + 1) + " begins at byte " + std::to_string(begins_[i + 1]) + ", before piece " + std::to_string(i));
    if (block_.size() < margin || begins_[size_] > block_.size() - margin)
      from.fail("its pieces end at byte " + std::to_string(begins_[size_]) + " of " + std::to_string(block_.size()) + " less " + std::to_string(margin));
  }
  void save(ArrayWriter& to) const {
    to.put(block_.all().first(bytes() + margin));
    to.put(begins_.all().first(size_ + 1));
  }

  // Where the next string goes, and that it is there now.
  char* room() { return block_.own() + begins_[size_]; }
  void push_back(std::size_t bytes_in_room) {
    begins_.own()[size_ + 1] = begins_[size_] + static_cast<std::uint32_t>(bytes_in_room);
    ++size_;
  }

  std::size_t size() const { return size_; }
  std::size_t bytes() const { return begins_[size_]; }
  std::string_view operator[](std::size_t index) const { return {block_.data() + begins_[index], begins_[index + 1] - begins_[index]}; }

 private:
  static std::size_t checked(std::size_t bytes) {
    if (bytes > (std::numeric_limits<std::uint32_t>::max)()) throw Error("the pieces of the tokenizer take " + std::to_string(bytes) + " bytes, more than 4 GiB");
    return bytes;
  }

  Array<char> block_;
  Array<std::uint32_t> begins_;  // and where the next would begin
  std::size_t size_ = 0;
};

}  // namespace diecast
