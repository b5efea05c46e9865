// Fuzzes a safetensors file, and the weights of a small model of each family out of what was accepted.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <diecast/files/decode.hpp>
#include <diecast/files/hf_config.hpp>
#include <diecast/files/hf_weights.hpp>
#include <diecast/files/safetensors.hpp>

#include "fuzz/outcome.hpp"
#include "fuzz/tiny_configs.hpp"

using namespace diecast;
using diecast_fuzz::accepted;
using diecast_fuzz::require;

namespace {

struct Family {
  Spec spec;
  std::string type;
};

const std::vector<Family>& families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> specs;
    for (const char* text : diecast_fuzz::tiny_configs) {
      const Json config = parse_json(text, "config.json");
      specs.push_back({hf_spec(config, "config.json"), hf_model_type(config, "config.json")});
    }
    return specs;
  }();
  return all;
}

void decode_all(const Tensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.rows) * static_cast<std::size_t>(tensor.cols));
  decode_tensor(tensor, values);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  std::vector<SafetensorsEntry> entries;
  if (!accepted([&] { entries = parse_safetensors(file, nullptr, "model.safetensors"); })) return 0;
  std::size_t taken = 0;
  for (const SafetensorsEntry& entry : entries) {
    require(entry.bytes.empty() || (entry.bytes.data() >= file.data() && entry.bytes.data() + entry.bytes.size() <= file.data() + file.size()),
            "a tensor lies in the file");
    taken += entry.bytes.size();
  }
  require(taken <= size, "tensors do not overlap");
  for (const Family& family : families()) {
    accepted([&] {
      const Weights weights = hf_weights(entries, family.spec, family.type, "folder");
      decode_all(weights.embedding);
      for (const LayerWeights& layer : weights.layers) decode_all(layer.q.weight), decode_all(layer.down.weight);
    });
  }
  return 0;
}
