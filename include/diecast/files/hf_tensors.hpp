// The tensors of a folder by name, each taken once and with the shape that the spec asks for, so that what is left over at
// the end is known; and the few changes that HF's storage needs: columns of a matrix as rows, 1 + w as a factor.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <diecast/error.hpp>
#include <diecast/files/decode.hpp>
#include <diecast/files/format.hpp>
#include <diecast/files/safetensors.hpp>
#include <diecast/files/weights.hpp>

namespace diecast::hf_detail {

inline std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

class Tensors {
 public:
  // Names are looked up without `prefixes`, the first that fits is taken off: files of the bare model lack it.
  Tensors(std::vector<SafetensorsEntry> entries, const std::vector<std::string_view>& prefixes, std::string where)
      : where_(std::move(where)) {
    for (SafetensorsEntry& entry : entries) {
      std::string key = entry.name;
      for (const std::string_view prefix : prefixes)
        if (key.starts_with(prefix)) {
          key.erase(0, prefix.size());
          break;
        }
      const auto [it, fresh] = entries_.try_emplace(key, std::move(entry));
      if (!fresh)
        throw Error(where_ + ": tensors " + in_quotes(it->second.name) + " and " + in_quotes(entry.name) +
                    " are the same part of the model");
    }
  }

  bool has(const std::string& name) const { return entries_.contains(name); }
  const std::string& stored_name(const std::string& name) const { return entries_.at(name).name; }

  // A vector [cols] of the file.
  Tensor vector(const std::string& name, std::int64_t cols) { return take(name, {static_cast<std::uint64_t>(cols)}, 1, cols); }
  // A matrix [rows, cols] as the file stores it.
  Tensor matrix(const std::string& name, std::int64_t rows, std::int64_t cols) {
    return take(name, {static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(cols)}, rows, cols);
  }

  // All the rest must be known to be harmless.
  template <typename Harmless>
  void refuse_leftovers(Harmless&& harmless) const {
    for (const auto& [name, entry] : entries_)
      if (!taken_.contains(name) && !harmless(name))
        throw Error(where_ + ": tensor " + in_quotes(entry.name) + " is unknown; a model with it would compute something else");
  }

  const std::string& where() const { return where_; }

 private:
  Tensor take(const std::string& name, const std::vector<std::uint64_t>& shape, std::int64_t rows, std::int64_t cols) {
    const auto it = entries_.find(name);
    if (it == entries_.end()) throw Error(where_ + ": tensor " + in_quotes(name) + " is missing");
    const SafetensorsEntry& entry = it->second;
    const auto format = format_of(entry);
    if (entry.shape != shape)
      throw Error(where_ + ": tensor " + in_quotes(entry.name) + " has the shape " + shape_text(entry.shape) +
                  ", and config.json asks for " + shape_text(shape));
    taken_.insert(name);
    return {.name = entry.name, .format = format, .rows = rows, .cols = cols, .bytes = entry.bytes, .owner = entry.owner};
  }

  Format format_of(const SafetensorsEntry& entry) const {
    if (entry.dtype == "F32") return Format::f32;
    if (entry.dtype == "F16") return Format::f16;
    if (entry.dtype == "BF16") return Format::bf16;
    throw Error(where_ + ": tensor " + in_quotes(entry.name) + " has the dtype " + entry.dtype + ", and weights must be F32, F16 or BF16");
  }

  std::string where_;
  std::map<std::string, SafetensorsEntry> entries_;
  std::set<std::string> taken_;
};

// Rows [first, first + rows) of a matrix; or, of a vector, its values. Shares the bytes.
inline Tensor part(const Tensor& tensor, std::int64_t first, std::int64_t size) {
  Tensor one = tensor;
  const bool is_vector = tensor.rows == 1;
  const std::int64_t unit = (is_vector ? 1 : tensor.cols) * layout(tensor.format).bytes;
  (is_vector ? one.cols : one.rows) = size;
  one.bytes = tensor.bytes.subspan(static_cast<std::size_t>(first * unit), static_cast<std::size_t>(size * unit));
  return one;
}

// Rows that lie as [groups, parts, size]: those of one part, group after group, into a buffer of our own. Of a vector: its values.
inline Tensor gathered_rows(const Tensor& tensor, std::int64_t groups, std::int64_t parts, std::int64_t which, std::int64_t size) {
  const bool is_vector = tensor.rows == 1;
  const auto chunk = static_cast<std::size_t>(size * (is_vector ? 1 : tensor.cols) * layout(tensor.format).bytes);
  auto buffer = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(groups) * chunk);
  for (std::int64_t group = 0; group < groups; ++group)
    std::memcpy(buffer->data() + static_cast<std::size_t>(group) * chunk, tensor.bytes.data() + static_cast<std::size_t>(group * parts + which) * chunk, chunk);
  Tensor one = tensor;
  (is_vector ? one.cols : one.rows) = groups * size;
  one.bytes = *buffer;
  one.owner = std::move(buffer);
  return one;
}

// [in, out] -> [out, in], into a buffer of our own.
inline Tensor transposed(const Tensor& tensor) {
  const auto size = static_cast<std::size_t>(layout(tensor.format).bytes);
  const auto rows = static_cast<std::size_t>(tensor.rows);
  const auto cols = static_cast<std::size_t>(tensor.cols);
  auto buffer = std::make_shared<std::vector<std::byte>>(tensor.bytes.size());
  // In tiles: either side alone would touch a new cache line for every value.
  constexpr std::size_t tile = 32;
  for (std::size_t row0 = 0; row0 < rows; row0 += tile)
    for (std::size_t col0 = 0; col0 < cols; col0 += tile)
      for (std::size_t col = col0; col < (std::min)(col0 + tile, cols); ++col)
        for (std::size_t row = row0; row < (std::min)(row0 + tile, rows); ++row)
          std::memcpy(buffer->data() + (col * rows + row) * size, tensor.bytes.data() + (row * cols + col) * size, size);
  Tensor one{.name = tensor.name, .format = tensor.format, .rows = tensor.cols, .cols = tensor.rows};
  one.bytes = *buffer;
  one.owner = std::move(buffer);
  return one;
}

// w -> 1 + w in float, which is what Gemma's own code computes.
inline Tensor one_plus(const Tensor& tensor) {
  auto buffer = std::make_shared<std::vector<float>>(static_cast<std::size_t>(tensor.cols));
  decode_row(tensor, 0, *buffer);
  for (float& value : *buffer) value += 1.0f;
  Tensor one{.name = tensor.name, .format = Format::f32, .rows = tensor.rows, .cols = tensor.cols};
  one.bytes = std::as_bytes(std::span<const float>(*buffer));
  one.owner = std::move(buffer);
  return one;
}

// Equal shapes given: whether two tensors hold the same numbers, whatever their formats. NaN equals nothing, unless it is stored alike.
inline bool same_values(const Tensor& a, const Tensor& b) {
  if (a.format == b.format) return std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end());
  std::vector<float> row_a(static_cast<std::size_t>(a.cols));
  std::vector<float> row_b(row_a.size());
  for (std::int64_t row = 0; row < a.rows; ++row) {
    decode_row(a, row, row_a);
    decode_row(b, row, row_b);
    if (row_a != row_b) return false;
  }
  return true;
}

}  // namespace diecast::hf_detail
