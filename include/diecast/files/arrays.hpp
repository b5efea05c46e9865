// Lists of plain numbers one behind the other in memory, each with its count before it and at a multiple of eight bytes: what takes long to compute is
// written once, and whoever maps it later uses it as it lies. The reader believes no count that the bytes behind it cannot bear out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <diecast/error.hpp>

namespace diecast {

// A list of its own, or one that lies in somebody else's memory and is only read. Copies of either would be costly or wrong.
template <class T>
class Array {
 public:
  Array() = default;
  explicit Array(std::span<const T> seen) : seen_(seen) {}
  explicit Array(std::vector<T> own) : own_(std::move(own)), seen_(own_) {}
  Array(Array&& other) noexcept : own_(std::move(other.own_)), seen_(std::exchange(other.seen_, {})) {}
  Array& operator=(Array&& other) noexcept {
    own_ = std::move(other.own_);
    seen_ = std::exchange(other.seen_, {});
    return *this;
  }
  ~Array() = default;

  std::size_t size() const { return seen_.size(); }
  const T* data() const { return seen_.data(); }
  const T& operator[](std::size_t index) const { return seen_[index]; }
  std::span<const T> all() const { return seen_; }
  T* own() { return own_.data(); }  // to be filled: only of a list of its own

 private:
  std::vector<T> own_;
  std::span<const T> seen_;
};

class ArrayWriter {
 public:
  template <class T>
  void put(std::span<const T> list) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 8);
    const std::uint64_t count = list.size();
    bytes_.append(reinterpret_cast<const char*>(&count), sizeof count);
    if (count > 0) bytes_.append(reinterpret_cast<const char*>(list.data()), list.size_bytes());
    bytes_.resize((bytes_.size() + 7) / 8 * 8, '\0');
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class ArrayReader {
 public:
  ArrayReader(std::span<const std::byte> bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % 8 != 0) fail("its memory does not begin at a multiple of 8 bytes");
  }

  template <class T>
  Array<T> get(const char* what) {
    std::uint64_t count = 0;
    if (bytes_.size() < sizeof count) fail(std::string(what) + " are missing");
    std::memcpy(&count, bytes_.data(), sizeof count);
    bytes_ = bytes_.subspan(sizeof count);
    if (count > bytes_.size() / sizeof(T))
      fail(std::string(what) + " are said to be " + std::to_string(count) + " of " + std::to_string(sizeof(T)) + " bytes, " + std::to_string(bytes_.size()) + " bytes are left");
    const auto* const first = reinterpret_cast<const T*>(bytes_.data());
    const std::size_t size = (static_cast<std::size_t>(count) * sizeof(T) + 7) / 8 * 8;
    if (size > bytes_.size()) fail(std::string(what) + " end without the bytes up to a multiple of 8");
    bytes_ = bytes_.subspan(size);
    return Array<T>(std::span(first, static_cast<std::size_t>(count)));
  }
  void end() const {
    if (!bytes_.empty()) fail(std::to_string(bytes_.size()) + " bytes follow its last list");
  }
  [[noreturn]] void fail(const std::string& what) const { throw Error(where_ + ": " + what); }

 private:
  std::span<const std::byte> bytes_;
  std::string where_;
};

}  // namespace diecast
