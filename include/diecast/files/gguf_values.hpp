// The bytes of a GGUF file as typed views: nothing is copied, so that 280,000 merges cost nothing until somebody asks.
// Every read first compares what the file claims with the bytes that are left; nothing is allocated by a claimed count.
// Source: the GGUF format text, ggml/docs/gguf.md.
#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <diecast/error.hpp>
#include <diecast/text.hpp>

namespace diecast {

static_assert(std::endian::native == std::endian::little, "the file formats read here are little-endian, and so must be the machine");

// A name out of a file as it may stand in a sentence: control characters, quotes and bytes above ASCII escaped, the length bounded.
inline std::string in_marks(std::string_view name) {
  constexpr std::size_t longest = 96;
  std::string text = "'";
  for (const char c : name.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\'' && c != '\\') {
      text += c;
    } else {
      text += "\\x";
      append_hex(text, byte);
    }
  }
  return text + (name.size() > longest ? "...'" : "'");
}

// The double of the shortest decimal that names this float: 9.999999747378752e-06f becomes 1e-05, as config.json spells it.
inline double shortest_decimal(float value) {
  if (!std::isfinite(value)) return static_cast<double>(value);
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  double result{};
  std::from_chars(text.data(), end.ptr, result);
  return result;
}

template <typename T>
T gguf_load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

enum class GgufType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

constexpr std::string_view name_of(GgufType type) {
  constexpr std::array<std::string_view, 13> names{"uint8",  "int8", "uint16", "int16",  "uint32", "int32", "float32",
                                                   "bool", "string", "array",  "uint64", "int64", "float64"};
  return static_cast<std::size_t>(type) < names.size() ? names[static_cast<std::size_t>(type)] : "unknown";
}

// Bytes of one value; strings and arrays have no fixed size: 0.
constexpr std::size_t size_of(GgufType type) {
  constexpr std::array<std::size_t, 13> sizes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return static_cast<std::size_t>(type) < sizes.size() ? sizes[static_cast<std::size_t>(type)] : 0;
}

// A value inside the mapping, already checked to lie within it. Of a string: its characters; of an array: its elements as stored.
struct GgufValue {
  GgufType type{};
  GgufType element{};      // of an array
  std::uint64_t count{};   // of an array
  std::span<const std::byte> bytes{};

  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

  // Whole numbers of every width; absent: another type, or more than 2^63 - 1.
  std::optional<std::int64_t> integer() const { return integer_at(type, bytes.data()); }
  std::optional<double> number() const {
    if (type == GgufType::f32) return shortest_decimal(gguf_load<float>(bytes.data()));
    if (type == GgufType::f64) return gguf_load<double>(bytes.data());
    if (const auto whole = integer()) return static_cast<double>(*whole);
    return std::nullopt;
  }

  // Calls visit(index, string) for each string of an array of strings.
  template <typename Visit>
  void for_each_string(Visit&& visit) const {
    std::size_t at = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto length = static_cast<std::size_t>(gguf_load<std::uint64_t>(bytes.data() + at));
      at += sizeof(std::uint64_t);
      visit(static_cast<std::size_t>(i), std::string_view(reinterpret_cast<const char*>(bytes.data() + at), length));
      at += length;
    }
  }
  std::optional<std::int64_t> integer_element(std::uint64_t index) const {
    return integer_at(element, bytes.data() + static_cast<std::size_t>(index) * size_of(element));
  }

 private:
  static std::optional<std::int64_t> integer_at(GgufType type, const std::byte* at) {
    switch (type) {
      case GgufType::u8:
      case GgufType::boolean: return gguf_load<std::uint8_t>(at);
      case GgufType::i8: return gguf_load<std::int8_t>(at);
      case GgufType::u16: return gguf_load<std::uint16_t>(at);
      case GgufType::i16: return gguf_load<std::int16_t>(at);
      case GgufType::u32: return gguf_load<std::uint32_t>(at);
      case GgufType::i32: return gguf_load<std::int32_t>(at);
      case GgufType::i64: return gguf_load<std::int64_t>(at);
      case GgufType::u64: {
        const auto value = gguf_load<std::uint64_t>(at);
        if (value <= static_cast<std::uint64_t>(INT64_MAX)) return static_cast<std::int64_t>(value);
        return std::nullopt;
      }
      default: return std::nullopt;
    }
  }
};

// Walks through the bytes from the front; every step is checked against what is left.
class GgufCursor {
 public:
  GgufCursor(std::span<const std::byte> bytes, std::string_view where) : bytes_(bytes), where_(where) {}

  std::size_t position() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }

  std::span<const std::byte> take(std::uint64_t length, std::string_view what) {
    if (length > left()) {
      fail(std::string(what) + " at byte " + std::to_string(at_) + " takes " + std::to_string(length) + " bytes, " + std::to_string(left()) +
           " are left in the file");
    }
    const auto taken = bytes_.subspan(at_, static_cast<std::size_t>(length));
    at_ += taken.size();
    return taken;
  }
  template <typename T>
  T read(std::string_view what) {
    return gguf_load<T>(take(sizeof(T), what).data());
  }
  std::string_view string(std::string_view what) {
    const auto characters = take(read<std::uint64_t>(what), what);
    return {reinterpret_cast<const char*>(characters.data()), characters.size()};
  }
  // A count of things of which each takes at least this many bytes.
  std::uint64_t count(std::size_t smallest, std::string_view what) {
    const auto claimed = read<std::uint64_t>(what);
    if (claimed > left() / smallest) {
      fail(std::string(what) + " is " + std::to_string(claimed) + ", too many for the " + std::to_string(left()) + " bytes that are left in the file");
    }
    return claimed;
  }
  GgufType type(std::string_view key) {
    const auto number = read<std::uint32_t>("a value type");
    if (number > static_cast<std::uint32_t>(GgufType::f64)) fail("the key " + in_marks(key) + " has the unknown value type " + std::to_string(number));
    return static_cast<GgufType>(number);
  }
  GgufValue value(std::string_view key) { return value(type(key), key, 0); }

  [[noreturn]] void fail(const std::string& sentence) const { throw Error(std::string(where_) + ": " + sentence); }

 private:
  GgufValue value(GgufType type, std::string_view key, int depth) {
    GgufValue value{.type = type};
    if (type == GgufType::string) {
      const auto length = read<std::uint64_t>("a string's length");
      value.bytes = take(length, "the text of the key " + in_marks(key));
    } else if (type == GgufType::array) {
      constexpr int deepest = 4;  // a bound on our own recursion; no model needs more than one level
      if (depth >= deepest) fail("the arrays of the key " + in_marks(key) + " are nested deeper than " + std::to_string(deepest));
      value.element = this->type(key);
      const bool fixed = size_of(value.element) > 0;
      const std::size_t smallest = fixed ? size_of(value.element) : value.element == GgufType::string ? 8 : 12;
      value.count = count(smallest, "the array length of the key " + in_marks(key));
      const std::size_t begin = at_;
      if (fixed) {
        take(value.count * smallest, "an array");
      } else if (value.element == GgufType::string) {
        for (std::uint64_t i = 0; i < value.count; ++i) string("a string in the array");
      } else {
        for (std::uint64_t i = 0; i < value.count; ++i) this->value(GgufType::array, key, depth + 1);
      }
      value.bytes = bytes_.subspan(begin, at_ - begin);
    } else {
      value.bytes = take(size_of(type), "a value");
    }
    return value;
  }

  std::span<const std::byte> bytes_;
  std::string_view where_;
  std::size_t at_ = 0;
};

}  // namespace diecast
