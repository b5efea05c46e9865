// The memory that a forward pass works in: rows of floats padded to whole vectors, and activations with their integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <diecast/cpu/lanes.hpp>
#include <diecast/cpu/quantise.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::cpu::inline DIECAST_ISA {

struct Rows {  // [rows][stride], zeroed
  std::vector<float> memory;
  std::size_t stride = 0;

  Rows() = default;
  Rows(int rows, int cols) : memory(static_cast<std::size_t>(rows) * static_cast<std::size_t>(round_up(cols, lanes))), stride(static_cast<std::size_t>(round_up(cols, lanes))) {}
  float* row(int i) { return memory.data() + static_cast<std::size_t>(i) * stride; }
};

class ActivationRows {
 public:
  ActivationRows() = default;
  ActivationRows(int rows, int cols)
      : values_(rows, cols), integers_(count(rows, cols, 1)), lower_(count(rows, cols, 1)), scales_(count(rows, cols, 32)), sums_(count(rows, cols, 32)), offsets_(count(rows, cols, 32)),
        offsets16_(count(rows, cols, 16)), cols_(cols) {}

  Activations view(bool wide) {
    return {values_.memory.data(), integers_.data(), wide ? lower_.data() : nullptr, scales_.data(), sums_.data(), offsets_.data(), offsets16_.data(), cols_};
  }
  float* row(int i) { return values_.row(i); }

 private:
  static std::size_t count(int rows, int cols, int unit) { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols / unit + 1); }

  Rows values_;
  std::vector<std::int8_t> integers_, lower_;
  std::vector<float> scales_, sums_;
  std::vector<std::int32_t> offsets_, offsets16_;
  int cols_ = 0;
};

}  // namespace diecast::cpu::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
