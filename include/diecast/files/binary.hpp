// Plain data to bytes and back: numbers, enums, strings, lists, optionals, variants, and structs that Boost.Hana can look into, member by member.
// Numbers are little-endian, lengths are 32 bits. The reader believes no length that the bytes behind it cannot bear out.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <diecast/error.hpp>
#include <diecast/spec/hana.hpp>

namespace diecast {

static_assert(std::endian::native == std::endian::little, "files are written as this machine keeps its numbers");

class BinaryWriter {
 public:
  const std::string& bytes() const { return bytes_; }

  template <class T>
  void put(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    } else {
      put_members(value);
    }
  }
  void put(const std::string& text) {
    length(text.size());
    bytes_ += text;
  }
  template <class T>
  void put(const std::vector<T>& list) {
    length(list.size());
    for (const T& one : list) put(one);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class... T>
  void put(const std::variant<T...>& value) {
    put(static_cast<std::uint8_t>(value.index()));
    std::visit([this](const auto& one) { this->put(one); }, value);
  }

 private:
  template <class T>
  void put_members(const T& value) {
    boost::hana::for_each(boost::hana::accessors<T>(), [&](auto accessor) { put(boost::hana::second(accessor)(value)); });
  }
  void length(std::size_t count) {
    if (count > (std::numeric_limits<std::uint32_t>::max)()) throw Error(std::to_string(count) + " entries are more than a list in a file may have");
    put(static_cast<std::uint32_t>(count));
  }

  std::string bytes_;
};

class BinaryReader {
 public:
  BinaryReader(std::span<const std::byte> bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {}

  template <class T>
  T get() {
    T value{};
    read(value);
    return value;
  }
  std::size_t left() const { return bytes_.size() - at_; }
  [[noreturn]] void fail(const std::string& what) const { throw Error(where_ + ": " + what); }

 private:
  template <class T>
  void read(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      std::uint8_t byte{};
      read(byte);
      if (byte > 1) fail("a yes or no is " + std::to_string(byte));
      value = byte == 1;
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      take(&value, sizeof(T));
    } else {
      boost::hana::for_each(boost::hana::accessors<T>(), [&](auto accessor) { read_member(value, accessor); });
    }
  }
  template <class T, class Accessor>
  void read_member(T& value, Accessor accessor) {
    using Member = std::remove_cvref_t<decltype(boost::hana::second(accessor)(value))>;
    read(const_cast<Member&>(boost::hana::second(accessor)(value)));
  }
  void read(std::string& text) {
    const std::size_t count = length(1);
    text.assign(reinterpret_cast<const char*>(bytes_.data() + at_), count);
    at_ += count;
  }
  template <class T>
  void read(std::vector<T>& list) {
    list.resize(length(1));
    for (T& one : list) read(one);
  }
  template <class T>
  void read(std::optional<T>& value) {
    if (get<bool>()) read(value.emplace());
    else value.reset();
  }
  template <class... T>
  void read(std::variant<T...>& value) {
    const auto index = get<std::uint8_t>();
    if (index >= sizeof...(T)) fail("there is no alternative " + std::to_string(index) + " of " + std::to_string(sizeof...(T)));
    std::size_t at = 0;
    (void)((at++ == index ? (read(value.template emplace<T>()), true) : false) || ...);
  }

  std::size_t length(std::size_t least) {  // each entry has at least so many bytes
    const auto count = get<std::uint32_t>();
    if (count > left() / least) fail("a list of " + std::to_string(count) + " entries is announced, " + std::to_string(left()) + " bytes are left");
    return count;
  }
  void take(void* to, std::size_t count) {
    if (count > left()) fail(std::to_string(count) + " bytes are missing at its end, " + std::to_string(left()) + " are left");
    std::memcpy(to, bytes_.data() + at_, count);
    at_ += count;
  }

  std::span<const std::byte> bytes_;
  std::string where_;
  std::size_t at_ = 0;
};

}  // namespace diecast
