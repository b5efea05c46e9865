// The CPU backend: steps 3-5 at the speed of the memory, for one model's shape or for any.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <diecast/backend/backend.hpp>
#include <diecast/cpu/context.hpp>
#include <diecast/cpu/parts.hpp>
#include <diecast/cpu/shape.hpp>
#include <diecast/error.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::cpu::inline DIECAST_ISA {

template <Shape shape = any_shape>
class Cpu final : public Backend {
 public:
  Cpu(const Spec& spec, const Weights& weights, const Options& options = {}) : Cpu(std::make_shared<const PackedModel>(pack(spec, weights, options.threads)), options) {}
  Cpu(std::shared_ptr<const PackedModel> model, const Options& options) : model_(std::move(model)), options_(options) {
    const Spec& spec = model_->spec;
    const Shape of_file = shape_of(spec, {});
    if ((shape.hidden != 0 && shape.hidden != of_file.hidden) || (shape.q_width != 0 && shape.q_width != of_file.q_width) ||
        (shape.mlp_width != 0 && shape.mlp_width != of_file.mlp_width) || (shape.head_dim != 0 && shape.head_dim != of_file.head_dim))
      throw Error("these kernels were compiled for a hidden size of " + std::to_string(shape.hidden) + " and an MLP of " + std::to_string(shape.mlp_width) +
                      ", the model has " + std::to_string(of_file.hidden) + " and " + std::to_string(of_file.mlp_width), Blame::program);
    check_formats();
  }

  std::string_view name() const override { return "cpu"; }
  const Spec& spec() const override { return model_->spec; }
  std::unique_ptr<Context> open(int tokens) const override { return std::make_unique<CpuContext<shape>>(model_, tokens, options_); }
  const PackedModel& model() const { return *model_; }

 private:
  void check_formats() const {
    const auto check = [](const PackedMatrix& matrix) {
      if (matrix.rows > 0 && !shape.has(matrix.format))
        throw Error("these kernels were compiled without the format " + std::string(layout(matrix.format).name) + ", which the model has", Blame::program);
    };
    for (const LayerParts& layer : model_->parts.layers)
      for (const LinearPart* part : {&layer.q, &layer.k, &layer.v, &layer.output, &layer.gate, &layer.up, &layer.down}) check(part->matrix);
    check(model_->parts.head.matrix);
  }

  std::shared_ptr<const PackedModel> model_;
  Options options_;
};

}  // namespace diecast::cpu::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
