// Looks tensors up by name with the shape that the spec asks for, and remembers which were asked for:
// what is left over in the end is a feature that would be dropped silently, so it is refused by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <diecast/files/decode.hpp>
#include <diecast/files/gguf.hpp>
#include <diecast/files/weights.hpp>

namespace diecast {

class GgufTensors {
 public:
  explicit GgufTensors(const Gguf& file) : file_(file) {}

  bool has(const std::string& name) const { return file_.tensor(name) != nullptr; }
  Tensor matrix(const std::string& name, std::int64_t rows, std::int64_t cols) {
    const GgufTensor& found = take(name);
    std::vector<std::int64_t> expected{cols};
    if (rows != 1 || found.dims.size() > 1) expected.push_back(rows);
    if (found.dims != expected) {
      file_.fail("the tensor '" + name + "' has the shape " + shape(found.dims) + ", the model needs " + shape(expected));
    }
    return as_tensor(file_, found);
  }
  Tensor vector(const std::string& name, std::int64_t size) { return matrix(name, 1, size); }
  std::optional<Tensor> optional_vector(const std::string& name, std::int64_t size) {
    return has(name) ? std::optional<Tensor>(vector(name, size)) : std::nullopt;
  }
  // The tensor as it is, when its shape is what we want to learn.
  Tensor any(const std::string& name) { return as_tensor(file_, take(name)); }
  // A tensor that we know and do not need.
  void ignore(const std::string& name) {
    if (has(name)) take(name);
  }

  void refuse_leftovers(std::string_view architecture) const {
    for (const GgufTensor& tensor : file_.tensors()) {
      if (!taken_.contains(tensor.name)) {
        file_.fail("the tensor " + in_marks(tensor.name) + " is not part of a model of the architecture " + in_marks(architecture) + " as we know it");
      }
    }
  }

 private:
  const GgufTensor& take(const std::string& name) {
    const GgufTensor* found = file_.tensor(name);
    if (!found) file_.fail("the tensor '" + name + "' is missing");
    taken_.insert(found->name);
    return *found;
  }
  static std::string shape(const std::vector<std::int64_t>& dims) {
    std::string text;
    for (const auto extent : dims) text += (text.empty() ? "[" : ", ") + std::to_string(extent);
    return text + "]";
  }

  const Gguf& file_;
  std::unordered_set<std::string_view> taken_;
};

namespace gguf_detail {

// Some rows of a matrix, nothing copied.
inline Tensor row_slice(const Tensor& whole, std::int64_t first, std::int64_t rows) {
  const std::size_t stride = row_bytes(whole.format, whole.cols);
  Tensor part = whole;
  part.rows = rows;
  part.bytes = whole.bytes.subspan(static_cast<std::size_t>(first) * stride, static_cast<std::size_t>(rows) * stride);
  return part;
}

// A vector seen as a column: each value a row of its own. Its format must not join neighbours into blocks.
inline Tensor as_column(const Gguf& file, const Tensor& vector) {
  if (layout(vector.format).block != 1) {
    file.fail("the tensor " + in_marks(vector.name) + " is a bias in " + std::string(layout(vector.format).name) + "; F32, F16 and BF16 can be split by head");
  }
  Tensor column = vector;
  column.rows = vector.cols;
  column.cols = 1;
  return column;
}
inline Tensor as_row(Tensor column) {
  column.cols = std::exchange(column.rows, 1);
  return column;
}

// llama files keep the two values of a RoPE pair next to each other; the library has them rotary_dim / 2 apart.
// Whole rows of bytes move, so this is exact in every format. Rows: heads * head_dim.
inline Tensor pairs_to_halves(const Tensor& matrix, int head_dim, int rotary_dim) {
  const std::size_t stride = row_bytes(matrix.format, matrix.cols);
  auto buffer = std::make_shared<std::vector<std::byte>>(matrix.bytes.size());
  const std::int64_t half = rotary_dim / 2;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    const std::int64_t head = row / head_dim * head_dim;
    const std::int64_t i = row - head;
    const std::int64_t from = head + (i < half ? 2 * i : i < rotary_dim ? 2 * (i - half) + 1 : i);
    std::memcpy(buffer->data() + static_cast<std::size_t>(row) * stride, matrix.bytes.data() + static_cast<std::size_t>(from) * stride, stride);
  }
  Tensor result = matrix;
  result.bytes = *buffer;
  result.owner = std::move(buffer);
  return result;
}

// Whether two matrices hold the same numbers; stops at the first row that differs.
inline bool same_values(const Tensor& a, const Tensor& b) {
  if (a.rows != b.rows || a.cols != b.cols) return false;
  if (a.format == b.format) return std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0;
  std::vector<float> left(static_cast<std::size_t>(a.cols)), right(left.size());
  for (std::int64_t row = 0; row < a.rows; ++row) {
    decode_row(a, row, left);
    decode_row(b, row, right);
    if (left != right) return false;
  }
  return true;
}

}  // namespace gguf_detail
}  // namespace diecast
