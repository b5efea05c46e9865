// What a program that is compiled for any machine needs of a unit that is compiled for this one: a few function pointers. The unit that has
// the config calls path_of<Config>(); the rest of the program calls what it gets, after it has asked whether this CPU has the instructions.
#pragma once

#include <memory>
#include <utility>

#include <diecast/backend/backend.hpp>
#include <diecast/cpu/cpu.hpp>
#include <diecast/cpu/path.hpp>
#include <diecast/isa.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::cpu::inline DIECAST_ISA {

template <Shape shape>
std::shared_ptr<const Backend> run(std::shared_ptr<const PackedModel> model, const Options& options) {
  return std::make_shared<const Cpu<shape>>(std::move(model), options);
}

// Kernels for one model's shape.
template <class Config>
Path path_of() { return {isa, &run<shape_of(Config::spec, Config::formats)>}; }
// Kernels for every shape.
inline Path path_of_any() { return {isa, &run<any_shape>}; }

}  // namespace diecast::cpu::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
