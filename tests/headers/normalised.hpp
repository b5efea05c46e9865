// An operation of kernels/ on the host executor, for the units that include every header: the norm of a row of ones, weights 2, goes through one
// row (1, 0, 0, ...) of an MLP, so what comes out is the first normalised value.
#pragma once

#include <cstddef>
#include <vector>

#include <diecast/kernels/gate_up.hpp>
#include <diecast/simt/launch.hpp>

namespace diecast_test {

template <int hidden>
float normalised() {
  using namespace diecast::kernels;
  using Operation = GateUp<Hidden{hidden}, MlpShape{1, false, Activate::relu}, Prologue{NormKind::rms, false, NormKind::rms}, forms(f32_form), Team{64, 1}>;
  constexpr auto width = static_cast<std::size_t>(hidden), padded = static_cast<std::size_t>(f32_form.row_bytes(hidden)) / 4;
  std::vector<float> first(padded);
  first[0] = 1.0f;
  diecast::simt::Memory memory;
  const diecast::simt::Buffer<float> row(memory, "row", std::vector<float>(width, 1.0f)), weight(memory, "weight", std::vector<float>(width, 2.0f)),
      matrix(memory, "matrix", first), out(memory, "out", 1);
  const diecast::simt::Buffer<int> counts(memory, "counts", std::vector<int>{1, 0});
  const int* none = nullptr;
  diecast::simt::launch<Operation>(memory, 1, {{counts.data(), none, none, none, none}, {row.data(), {weight.data(), nullptr, 0.0f}, nullptr, {}, 1.0f, nullptr}, {},
                                               {reinterpret_cast<const unsigned char*>(matrix.data()), nullptr, 0}, out.data()});
  return out.values().front();
}

}  // namespace diecast_test
