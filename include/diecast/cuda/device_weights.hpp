// A model's weights on a device, in the order in which a token uses them, and the addresses that the operations are given.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <diecast/cuda/device_array.hpp>
#include <diecast/cuda/pack.hpp>
#include <diecast/cuda/shape_of.hpp>
#include <diecast/error.hpp>
#include <diecast/files/decode.hpp>
#include <diecast/files/weights.hpp>
#include <diecast/kernels/activations.hpp>
#include <diecast/kernels/weight_form.hpp>
#include <diecast/spec/spec.hpp>

namespace diecast::cuda {

struct LayerAddresses {
  kernels::Norm attention_norm{}, mlp_norm{}, after_attention{}, after_mlp{};
  kernels::Linear q{}, k{}, v{}, output{}, gate{}, up{}, down{};
  const float* q_norm{};
  const float* k_norm{};
};

template <class Device>
class DeviceWeights {
 public:
  // Refuses a matrix whose form is not in the set that the kernels are compiled for.
  DeviceWeights(std::shared_ptr<Device> device, const Spec& spec, const Weights& weights, const kernels::FormSet& forms)
      : device_(std::move(device)), forms_(forms), epsilon_(epsilon_of(spec.norm)) {
    embedding = matrix(weights.embedding, nullptr);
    if (weights.position) position = matrix(*weights.position, nullptr);
    for (const LayerWeights& layer : weights.layers) layers.push_back(addresses(layer));
    final_norm = norm(weights.final_norm);
    head = weights.head ? matrix(*weights.head, nullptr) : embedding;
    if (weights.head_bias) head.bias = floats(*weights.head_bias);
    for (const auto& matrix : matrices_)
      if (matrix.data() == head.rows || (matrix.data() != embedding.rows && matrix.data() != position.rows)) step_bytes_ += matrix.size();
  }

  // Of matrices that are read whole, whatever the number of tokens: all but tables of which a token takes one row.
  std::size_t step_bytes() const { return step_bytes_; }

  kernels::Linear embedding{}, position{}, head{};
  std::vector<LayerAddresses> layers;
  kernels::Norm final_norm{};

 private:
  LayerAddresses addresses(const LayerWeights& layer) {
    LayerAddresses a;
    if (layer.attention_norm) a.attention_norm = norm(*layer.attention_norm);
    a.q = linear(layer.q);
    a.k = linear(layer.k);
    a.v = linear(layer.v);
    if (layer.q_norm) a.q_norm = floats(*layer.q_norm);
    if (layer.k_norm) a.k_norm = floats(*layer.k_norm);
    a.output = linear(layer.output);
    if (layer.after_attention) a.after_attention = norm(*layer.after_attention);
    a.mlp_norm = layer.mlp_norm ? norm(*layer.mlp_norm) : a.attention_norm;
    if (layer.gate) a.gate = linear(*layer.gate);
    a.up = linear(layer.up);
    a.down = linear(layer.down);
    if (layer.after_mlp) a.after_mlp = norm(*layer.after_mlp);
    return a;
  }

  kernels::Norm norm(const NormWeights& weights) {
    return {floats(weights.weight), weights.bias ? floats(*weights.bias) : nullptr, epsilon_};
  }
  kernels::Linear linear(const LinearWeights& weights) { return matrix(weights.weight, weights.bias ? floats(*weights.bias) : nullptr); }
  kernels::Linear matrix(const Tensor& tensor, const float* bias) {
    const int form = forms_.find(form_of(tensor.format));
    if (form < 0)
      throw Error("tensor '" + tensor.name + "' is " + std::string(layout(tensor.format).name) +
                  ", which these kernels are not compiled for");
    matrices_.emplace_back(device_, tensor.name, std::span<const unsigned char>(pack(tensor)));
    return {matrices_.back().data(), bias, form};
  }
  const float* floats(const Tensor& tensor) {
    std::vector<float> values(static_cast<std::size_t>(tensor.rows * tensor.cols));
    decode_tensor(tensor, values);
    vectors_.emplace_back(device_, tensor.name, std::span<const float>(values));
    return vectors_.back().data();
  }

  std::shared_ptr<Device> device_;
  kernels::FormSet forms_;
  float epsilon_;
  std::size_t step_bytes_ = 0;
  std::vector<DeviceArray<unsigned char, Device>> matrices_;
  std::vector<DeviceArray<float, Device>> vectors_;
};

}  // namespace diecast::cuda
