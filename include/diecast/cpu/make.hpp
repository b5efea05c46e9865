// What a program that is compiled for any machine needs of a unit that is compiled for this one: a few function pointers. The unit that has
// the config calls path_of<Config>(); the rest of the program calls what it gets, after it has asked whether this CPU has the instructions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <diecast/backend/backend.hpp>
#include <diecast/cpu/ceilings.hpp>
#include <diecast/cpu/cpu.hpp>
#include <diecast/cpu/path.hpp>
#include <diecast/isa.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::cpu::inline DIECAST_ISA {

template <Shape shape>
std::shared_ptr<const Backend> run(std::shared_ptr<const PackedModel> model, const Options& options) {
  return std::make_shared<const Cpu<shape>>(std::move(model), options);
}

template <Shape shape>
std::vector<float> multiply(const LinearPart& part, std::span<const float> x, bool wide) {
  ActivationRows rows(1, part.matrix.cols);
  std::copy(x.begin(), x.end(), rows.row(0));
  const Activations view = rows.view(wide);
  if (view.cols % block_columns == 0) quantise(view, 0);
  std::vector<float> y(static_cast<std::size_t>(part.matrix.rows));
  Ahead nothing;
  with_format(part.matrix.format, [&]<Format format>() {
    if constexpr (shape.has(format)) product<format, run_time>(part.matrix, part.bias, view, 1, 0, part.matrix.panels(), {y.data(), y.size()}, nothing);
  });
  return y;
}

template <Shape shape>
Path path_with() { return {isa, &run<shape>, &multiply<shape>, &ceilings}; }
// Kernels for one model's shape.
template <class Config>
Path path_of() { return path_with<shape_of(Config::spec, Config::formats)>(); }
// Kernels for every shape.
inline Path path_of_any() { return path_with<any_shape>(); }

}  // namespace diecast::cpu::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
