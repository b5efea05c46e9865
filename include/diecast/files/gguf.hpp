// The GGUF container: keys with values, and tensors with their bytes. It knows no model.
// The whole header is checked once, here; what comes out lies within the file, does not overlap and has a name of its own.
// Source: the GGUF format text, ggml/docs/gguf.md, and ggml's own reader for the layout of the tensors' bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <diecast/error.hpp>
#include <diecast/files/format.hpp>
#include <diecast/files/gguf_values.hpp>
#include <diecast/files/mapping.hpp>
#include <diecast/files/weights.hpp>
#include <diecast/text.hpp>

namespace diecast {

// ggml's number of a tensor type; those that we do not decode have a name here all the same, for the sentence.
constexpr std::optional<Format> ggml_format(std::uint32_t number) {
  switch (number) {
    case 0: return Format::f32;
    case 1: return Format::f16;
    case 2: return Format::q4_0;
    case 3: return Format::q4_1;
    case 6: return Format::q5_0;
    case 7: return Format::q5_1;
    case 8: return Format::q8_0;
    case 12: return Format::q4_k;
    case 13: return Format::q5_k;
    case 14: return Format::q6_k;
    case 30: return Format::bf16;
    default: return std::nullopt;
  }
}
constexpr std::string_view ggml_format_name(std::uint32_t number) {
  constexpr std::array<std::string_view, 40> names{
      "F32",     "F16",    "Q4_0",  "Q4_1",   "Q4_2",  "Q4_3",  "Q5_0",   "Q5_1", "Q8_0", "Q8_1", "Q2_K",  "Q3_K",  "Q4_K", "Q5_K",
      "Q6_K",    "Q8_K",   "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "I8",   "I16",   "I32",  "I64",
      "F64",     "IQ1_M",  "BF16",  "Q4_0_4_4", "Q4_0_4_8", "Q4_0_8_8", "TQ1_0", "TQ2_0", "IQ4_NL_4_4", "IQ4_NL_4_8", "IQ4_NL_8_8", "MXFP4"};
  return number < names.size() ? names[number] : "";
}

struct GgufTensor {
  std::string_view name;
  Format format{};
  std::vector<std::int64_t> dims;  // as stored: the contiguous one first
  std::uint64_t offset{};          // from the begin of the tensors' bytes
  std::span<const std::byte> bytes{};
};

class Gguf {
 public:
  static Gguf open(const std::string& path) {
    auto mapping = Mapping::open(path);
    const auto bytes = mapping->bytes();
    return Gguf(bytes, path, std::move(mapping));
  }
  // `where` stands before every sentence; `owner` keeps the bytes alive.
  Gguf(std::span<const std::byte> bytes, std::string where, std::shared_ptr<const void> owner = {})
      : where_(std::move(where)), owner_(std::move(owner)) {
    GgufCursor cursor(bytes, where_);
    read_header(cursor);
    read_keys(cursor);
    read_alignment();
    read_tensors(cursor, bytes);
    check_layout();
  }

  const std::string& where() const { return where_; }
  const std::shared_ptr<const void>& owner() const { return owner_; }
  const std::vector<std::pair<std::string_view, GgufValue>>& keys() const { return keys_; }
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  std::uint64_t alignment() const { return alignment_; }

  const GgufValue* find(std::string_view key) const {
    const auto found = key_index_.find(key);
    return found == key_index_.end() ? nullptr : &keys_[found->second].second;
  }
  const GgufTensor* tensor(std::string_view name) const {
    const auto found = tensor_index_.find(name);
    return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
  }

  // Values by key; absent where the key is, a sentence where it has another type.
  std::optional<std::string_view> text(std::string_view key) const {
    const GgufValue* value = find(key);
    if (!value) return std::nullopt;
    if (value->type != GgufType::string) fail_type(key, *value, "a string");
    return value->text();
  }
  std::optional<bool> flag(std::string_view key) const {
    const GgufValue* value = find(key);
    if (!value) return std::nullopt;
    if (value->type != GgufType::boolean) fail_type(key, *value, "a bool");
    const auto number = gguf_load<std::uint8_t>(value->bytes.data());
    if (number > 1) fail("the key " + in_marks(key) + " is a bool with the value " + std::to_string(number));
    return number == 1;
  }
  std::optional<double> number(std::string_view key) const {
    const GgufValue* value = find(key);
    if (!value) return std::nullopt;
    const auto result = value->number();
    if (!result) fail_type(key, *value, "a number");
    if (!std::isfinite(*result)) fail("the key " + in_marks(key) + " is " + text_of(*result) + ", which is no finite number");
    return result;
  }
  // A whole number within [low, high].
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t low, std::int64_t high) const {
    const GgufValue* value = find(key);
    if (!value) return std::nullopt;
    if (value->type == GgufType::boolean) fail_type(key, *value, "a whole number");
    const auto result = value->integer();
    if (!result && value->type != GgufType::u64) fail_type(key, *value, "a whole number");
    if (!result || *result < low || *result > high) {
      fail("the key " + in_marks(key) + " is " + (result ? std::to_string(*result) : std::to_string(gguf_load<std::uint64_t>(value->bytes.data()))) +
           ", outside " + std::to_string(low) + " to " + std::to_string(high));
    }
    return result;
  }
  const GgufValue* array(std::string_view key, GgufType element) const {
    const GgufValue* value = find(key);
    if (!value) return nullptr;
    if (value->type != GgufType::array || value->element != element) fail_type(key, *value, "an array of " + std::string(name_of(element)));
    return value;
  }

  [[noreturn]] void fail(const std::string& sentence) const { throw Error(where_ + ": " + sentence); }

 private:
  [[noreturn]] void fail_type(std::string_view key, const GgufValue& value, const std::string& expected) const {
    std::string found(name_of(value.type));
    if (value.type == GgufType::array) found += " of " + std::string(name_of(value.element));
    fail("the key " + in_marks(key) + " should be " + expected + " and is " + found);
  }

  void read_header(GgufCursor& cursor) {
    const auto magic = cursor.take(std::min<std::size_t>(4, cursor.left()), "the magic");
    constexpr std::array<std::byte, 4> expected{std::byte{'G'}, std::byte{'G'}, std::byte{'U'}, std::byte{'F'}};
    if (!std::ranges::equal(magic, expected)) fail("not a GGUF file: it does not begin with the letters GGUF");
    const auto version = cursor.read<std::uint32_t>("the version");
    if (version != 0 && (version & 0xffffU) == 0) fail("a big-endian GGUF file; only little-endian ones are read");
    if (version != 2 && version != 3) fail("GGUF version " + std::to_string(version) + "; versions 2 and 3 are read");
    // Each tensor takes at least the lengths, the type and the offset of its entry, each key at least its length, its type and one byte.
    tensor_count_ = cursor.count(32, "the number of tensors");
    key_count_ = cursor.count(13, "the number of keys");
  }

  void read_keys(GgufCursor& cursor) {
    for (std::uint64_t i = 0; i < key_count_; ++i) {
      const auto key = cursor.string("the name of key " + std::to_string(i));
      const auto value = cursor.value(key);
      if (!key_index_.emplace(key, keys_.size()).second) fail("the key " + in_marks(key) + " appears twice");
      keys_.emplace_back(key, value);
    }
  }

  void read_alignment() {
    const GgufValue* value = find("general.alignment");
    if (!value) return;
    if (value->type != GgufType::u32) fail_type("general.alignment", *value, "a uint32");
    alignment_ = gguf_load<std::uint32_t>(value->bytes.data());
    constexpr std::uint64_t largest = 65536;
    if (!std::has_single_bit(alignment_) || alignment_ < 8 || alignment_ > largest) {
      fail("the key 'general.alignment' is " + std::to_string(alignment_) + "; it must be a power of two from 8 to " + std::to_string(largest));
    }
  }

  void read_tensors(GgufCursor& cursor, std::span<const std::byte> file) {
    for (std::uint64_t i = 0; i < tensor_count_; ++i) {
      GgufTensor tensor{.name = cursor.string("the name of tensor " + std::to_string(i)), .format = {}, .dims = {}};
      const std::string named = "the tensor " + in_marks(tensor.name);
      const auto dims = cursor.read<std::uint32_t>("the number of dimensions");
      if (dims < 1 || dims > 4) fail(named + " has " + std::to_string(dims) + " dimensions; 1 to 4 are possible");
      std::array<std::uint64_t, 4> extent{};
      for (std::uint32_t d = 0; d < dims; ++d) extent[d] = cursor.read<std::uint64_t>("a dimension");
      const auto type = cursor.read<std::uint32_t>("a tensor type");
      const auto format = ggml_format(type);
      if (!format) {
        const auto name = ggml_format_name(type);
        fail(named + " has the " + (name.empty() ? "unknown format " + std::to_string(type) : "format " + std::string(name) + ", which is not supported"));
      }
      tensor.format = *format;
      tensor.offset = cursor.read<std::uint64_t>("a tensor's offset");
      sizes_.push_back(size_in_bytes(named, *format, std::span(extent).first(dims), file.size()));
      for (std::uint32_t d = 0; d < dims; ++d) tensor.dims.push_back(static_cast<std::int64_t>(extent[d]));
      if (!tensor_index_.emplace(tensor.name, tensors_.size()).second) fail(named + " appears twice");
      tensors_.push_back(std::move(tensor));
    }
    if (tensors_.empty()) return;
    const std::uint64_t begin = aligned(cursor.position());
    const std::uint64_t size = begin < file.size() ? file.size() - begin : 0;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      GgufTensor& tensor = tensors_[i];
      const std::string named = "the tensor " + in_marks(tensor.name);
      if (tensor.offset % alignment_ != 0) {
        fail(named + " begins at offset " + std::to_string(tensor.offset) + ", no multiple of the alignment " + std::to_string(alignment_));
      }
      if (tensor.offset > size || sizes_[i] > size - tensor.offset) {
        fail(named + " of " + std::to_string(sizes_[i]) + " bytes at offset " + std::to_string(tensor.offset) + " runs past the end of the file, which has " +
             std::to_string(size) + " bytes of tensors");
      }
      tensor.bytes = file.subspan(static_cast<std::size_t>(begin + tensor.offset), static_cast<std::size_t>(sizes_[i]));
    }
  }

  // The product grows only while it fits into the file, so that it can never wrap.
  std::uint64_t size_in_bytes(const std::string& named, Format format, std::span<const std::uint64_t> extent, std::uint64_t file_size) const {
    std::string shape;
    for (const auto e : extent) shape += (shape.empty() ? "[" : ", ") + std::to_string(e);
    shape += "]";
    const auto block = static_cast<std::uint64_t>(layout(format).block);
    for (const auto e : extent) {
      if (e == 0) fail(named + " has the shape " + shape + ": a dimension is zero");
    }
    if (extent[0] % block != 0) {
      fail(named + " has rows of " + std::to_string(extent[0]) + " values, no multiple of the " + std::to_string(block) + " values in a block of " +
           std::string(layout(format).name));
    }
    std::uint64_t bytes = static_cast<std::uint64_t>(layout(format).bytes);
    for (std::size_t d = 0; d < extent.size(); ++d) {
      const std::uint64_t factor = d == 0 ? extent[0] / block : extent[d];
      if (factor > file_size / bytes) {
        fail(named + " of shape " + shape + " in " + std::string(layout(format).name) + " takes more bytes than the file's " + std::to_string(file_size));
      }
      bytes *= factor;
    }
    return bytes;
  }

  // The tensors' bytes follow each other with nothing but the padding between (ggml's reader asks for the same).
  void check_layout() {
    std::vector<std::size_t> order(tensors_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [this](std::size_t i) { return tensors_[i].offset; });
    std::uint64_t end = 0;
    std::string_view before;
    for (const std::size_t i : order) {
      const GgufTensor& tensor = tensors_[i];
      if (tensor.offset < end) fail("the tensors " + in_marks(before) + " and " + in_marks(tensor.name) + " overlap");
      if (tensor.offset > end) {
        fail("the bytes from offset " + std::to_string(end) + " to the tensor " + in_marks(tensor.name) + " at " + std::to_string(tensor.offset) +
             " belong to no tensor");
      }
      end = aligned(tensor.offset + sizes_[i]);
      before = tensor.name;
    }
    sizes_ = {};
  }

  std::uint64_t aligned(std::uint64_t position) const { return (position + alignment_ - 1) / alignment_ * alignment_; }

  std::string where_;
  std::shared_ptr<const void> owner_;
  std::uint64_t tensor_count_ = 0;
  std::uint64_t key_count_ = 0;
  std::uint64_t alignment_ = 32;
  std::vector<std::pair<std::string_view, GgufValue>> keys_;
  std::vector<GgufTensor> tensors_;
  std::vector<std::uint64_t> sizes_;
  std::unordered_map<std::string_view, std::size_t> key_index_;
  std::unordered_map<std::string_view, std::size_t> tensor_index_;
};

// The same tensor under the library's orientation: rows of contiguous values, all further dimensions counted as rows.
inline Tensor as_tensor(const Gguf& file, const GgufTensor& tensor) {
  Tensor result{.name = std::string(tensor.name), .format = tensor.format, .rows = 1, .cols = tensor.dims[0], .bytes = tensor.bytes, .owner = file.owner()};
  for (std::size_t d = 1; d < tensor.dims.size(); ++d) result.rows *= tensor.dims[d];
  return result;
}

// What --inspect shows: every tensor in the file's order, whatever the model is.
inline std::vector<Tensor> list_tensors(const Gguf& file) {
  std::vector<Tensor> tensors;
  for (const GgufTensor& tensor : file.tensors()) tensors.push_back(as_tensor(file, tensor));
  return tensors;
}

}  // namespace diecast
