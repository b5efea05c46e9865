// A model's numbers as the CPU path reads them: packed matrices and float vectors, all in one arena, in the order in which a token meets them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include <diecast/cpu/arena.hpp>
#include <diecast/cpu/huge_pages.hpp>
#include <diecast/cpu/pack.hpp>
#include <diecast/cpu/screen.hpp>
#include <diecast/files/decode.hpp>
#include <diecast/files/weights.hpp>
#include <diecast/spec/check.hpp>
#include <diecast/spec/spec.hpp>

namespace diecast::cpu {

struct NormPart {
  const float* weight{};  // null: there is no such norm
  const float* bias{};
};
struct LinearPart {
  PackedMatrix matrix;
  const float* bias{};  // [rows padded to 16], or null
};
struct LayerParts {
  NormPart attention_norm, mlp_norm, after_attention, after_mlp;
  const float* q_norm{};
  const float* k_norm{};
  LinearPart q, k, v, output, gate, up, down;
};
struct Parts {
  std::vector<LayerParts> layers;
  NormPart final_norm;
  PackedMatrix position;   // rows 0: none
  PackedMatrix embedding;  // the head, too, where it is tied
  LinearPart head;
  Screen screen;  // of the head
};

namespace detail {

// Calls matrix(tensor, part) and vector(tensor, part) for everything, in order.
template <class Matrix, class Vector>
void each_part(const Weights& weights, Parts& parts, const Matrix& matrix, const Vector& vector) {
  const auto norm = [&](const NormWeights& from, NormPart& to) {
    vector(from.weight, to.weight);
    if (from.bias) vector(*from.bias, to.bias);
  };
  const auto optional_norm = [&](const std::optional<NormWeights>& from, NormPart& to) {
    if (from) norm(*from, to);
  };
  const auto optional_vector = [&](const std::optional<Tensor>& from, const float*& to) {
    if (from) vector(*from, to);
  };
  const auto linear = [&](const LinearWeights& from, LinearPart& to) {
    optional_vector(from.bias, to.bias);
    matrix(from.weight, to.matrix);
  };
  parts.layers.resize(weights.layers.size());
  for (std::size_t i = 0; i < weights.layers.size(); ++i) {
    const LayerWeights& from = weights.layers[i];
    LayerParts& to = parts.layers[i];
    optional_norm(from.attention_norm, to.attention_norm);
    optional_vector(from.q_norm, to.q_norm);
    optional_vector(from.k_norm, to.k_norm);
    optional_norm(from.after_attention, to.after_attention);
    optional_norm(from.mlp_norm, to.mlp_norm);
    optional_norm(from.after_mlp, to.after_mlp);
    linear(from.q, to.q);
    linear(from.k, to.k);
    linear(from.v, to.v);
    linear(from.output, to.output);
    if (from.gate) linear(*from.gate, to.gate);
    linear(from.up, to.up);
    linear(from.down, to.down);
  }
  norm(weights.final_norm, parts.final_norm);
  optional_vector(weights.head_bias, parts.head.bias);
  matrix(weights.embedding, parts.embedding);
  if (weights.head) matrix(*weights.head, parts.head.matrix);
  else parts.head.matrix = parts.embedding;
  if (weights.position) matrix(*weights.position, parts.position);
}

inline PackedMatrix shape_of(const Tensor& tensor) { return {tensor.format, static_cast<int>(tensor.rows), static_cast<int>(tensor.cols), nullptr}; }
inline std::size_t vector_bytes(const Tensor& tensor) { return (static_cast<std::size_t>(tensor.cols) + 15) / 16 * 64; }

}  // namespace detail

struct PackedModel {
  Spec spec{};
  Parts parts;
  std::vector<Format> vector_formats;  // that the vectors had in their file, in the order of each_part
  std::span<const std::byte> bytes;    // all of the parts
  std::shared_ptr<const void> owner;   // of the bytes: an arena, or the mapping of an engine file
  std::shared_ptr<HugePages> pages{};  // of a mapping, which is moved to them as it is used

  bool integers() const {  // whether any product needs integer activations
    const auto whole = [](const LinearPart& part) { return part.matrix.rows > 0 && form_of(part.matrix.format).integers; };
    for (const LayerParts& l : parts.layers)
      if (whole(l.q) || whole(l.k) || whole(l.v) || whole(l.output) || whole(l.gate) || whole(l.up) || whole(l.down)) return true;
    return whole(parts.head);
  }
};

// What pack() will take.
inline std::size_t packed_bytes(const Spec& spec, const Weights& weights) {
  std::size_t bytes = 0;
  const auto add = [&](std::size_t one) { bytes += (one + 63) / 64 * 64; };
  Parts parts;
  detail::each_part(
      weights, parts, [&](const Tensor& tensor, PackedMatrix&) { add(detail::shape_of(tensor).bytes()); },
      [&](const Tensor& tensor, const float*&) { add(detail::vector_bytes(tensor)); });
  const PackedMatrix head = detail::shape_of(weights.head ? *weights.head : weights.embedding);
  if (has_screen(spec, head.format)) {
    const Screen screen = screen_shape(head);
    add(screen.high.bytes());
    add(screen.norms.bytes());
  }
  return bytes;
}

// The arena is computed, allocated and filled, its panels by several threads.
inline PackedModel pack(const Spec& spec, const Weights& weights, int threads) {
  check_file(spec);
  PackedModel model;
  model.spec = spec;
  struct Job {
    const Tensor* tensor;
    std::size_t at;
    bool vector;
  };
  std::vector<Job> jobs;
  std::size_t end = 0;
  const auto place = [&](const Tensor& tensor, std::size_t bytes, bool vector) {
    jobs.push_back({&tensor, end, vector});
    end += (bytes + 63) / 64 * 64;
    return jobs.back().at;
  };
  detail::each_part(
      weights, model.parts,
      [&](const Tensor& tensor, PackedMatrix& part) {
        part = detail::shape_of(tensor);
        place(tensor, part.bytes(), false);
      },
      [&](const Tensor& tensor, const float*&) {
        model.vector_formats.push_back(tensor.format);
        place(tensor, detail::vector_bytes(tensor), true);
      });
  if (has_screen(spec, model.parts.head.matrix.format)) {
    model.parts.screen = screen_shape(model.parts.head.matrix);
    for (PackedMatrix* part : {&model.parts.screen.high, &model.parts.screen.norms}) {
      jobs.push_back({nullptr, end, false});
      end += (part->bytes() + 63) / 64 * 64;
    }
  }
  const auto arena = std::make_shared<const Arena>(end);
  model.bytes = {arena->data(), end};
  model.owner = arena;
  std::size_t next = 0;
  detail::each_part(
      weights, model.parts, [&](const Tensor&, PackedMatrix& part) { part.data = arena->data() + jobs[next++].at; },
      [&](const Tensor&, const float*& part) { part = reinterpret_cast<const float*>(arena->data() + jobs[next++].at); });
  std::byte* const high = model.parts.screen ? arena->data() + jobs[next++].at : nullptr;
  std::byte* const norms = model.parts.screen ? arena->data() + jobs[next++].at : nullptr;
  model.parts.screen.high.data = high;
  model.parts.screen.norms.data = norms;

  const auto fill = [&](int thread) {
    for (const Job& job : jobs) {
      if (!job.tensor) continue;  // the screen, which is made of the packed head
      std::byte* const to = arena->data() + job.at;
      if (job.vector) {
        if (thread == 0) decode_tensor(*job.tensor, {reinterpret_cast<float*>(to), static_cast<std::size_t>(job.tensor->cols)});
        continue;
      }
      const PackedMatrix shape = detail::shape_of(*job.tensor);
      const int first = shape.panels() * thread / threads, last = shape.panels() * (thread + 1) / threads;
      pack_panels(*job.tensor, first, last, to + static_cast<std::size_t>(first) * shape.panel_bytes());
    }
  };
  const auto screen = [&](int thread) {
    const PackedMatrix& head = model.parts.head.matrix;
    if (model.parts.screen) fill_screen(head, head.panels() * thread / threads, head.panels() * (thread + 1) / threads, high, norms);
  };
  const auto by_all = [threads](const auto& work) {
    std::vector<std::jthread> helpers;
    for (int thread = 1; thread < threads; ++thread) helpers.emplace_back([&work, thread] { work(thread); });
    work(0);
  };
  by_all(fill);
  by_all(screen);
  return model;
}

}  // namespace diecast::cpu
