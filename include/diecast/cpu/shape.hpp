// The few numbers of a model that its kernels are compiled for; 0: known at run time only. The same kernels serve both, with the same bits.
#pragma once

#include <span>
#include <variant>

#include <diecast/cpu/screen.hpp>
#include <diecast/files/format.hpp>
#include <diecast/spec/spec.hpp>

namespace diecast::cpu {

struct Shape {
  int hidden = 0;
  int q_width = 0;    // heads * head_dim
  int mlp_width = 0;
  int head_dim = 0;
  unsigned formats = ~0U;  // a bit for each that a matrix may have
  bool screen = false;     // whether the head may be screened

  constexpr bool has(Format format) const { return (formats >> static_cast<unsigned>(format) & 1U) != 0; }
};

inline constexpr Shape any_shape{.screen = true};

constexpr int mlp_width(const Spec& spec) {
  return std::visit([](const auto& mlp) { return mlp.width; }, spec.mlp);
}

constexpr Shape shape_of(const Spec& spec, std::span<const Format> formats) {
  Shape shape{spec.hidden, spec.attention.heads * spec.attention.head_dim, mlp_width(spec), spec.attention.head_dim, 0, false};
  for (const Format format : formats) shape.formats |= 1U << static_cast<unsigned>(format);
  shape.screen = shape.has(Format::q8_0) && has_screen(spec, Format::q8_0);
  return shape;
}

}  // namespace diecast::cpu
