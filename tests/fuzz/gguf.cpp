// Fuzzes a GGUF file: the container, and whatever of a model can be read out of it, down to the decoded rows.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <diecast/files/decode.hpp>
#include <diecast/files/gguf_model.hpp>
#include <diecast/spec/json.hpp>
#include <diecast/tokens/make_tokenizer.hpp>

#include "fuzz/outcome.hpp"

using namespace diecast;
using diecast_fuzz::accepted;
using diecast_fuzz::require;

namespace {

// The first and the last row. A row of an accepted tensor lies in the file, so the room for it is bounded by the input.
void decode_ends(const Tensor& tensor) {
  require(tensor.rows > 0 && tensor.cols > 0, "no tensor is empty");
  std::vector<float> row(static_cast<std::size_t>(tensor.cols));
  decode_row(tensor, 0, row);
  decode_row(tensor, tensor.rows - 1, row);
}

void look_at_keys(const Gguf& file) {
  std::size_t strings = 0;
  for (const auto& entry : file.keys()) {
    const std::string_view key = entry.first;  // clang 14 cannot capture a structured binding
    const GgufValue& value = entry.second;
    require(file.find(key) != nullptr, "a key that is listed is found");
    value.integer();
    value.number();
    if (value.type == GgufType::array && value.element == GgufType::string) {
      value.for_each_string([&](std::size_t, std::string_view text) { strings += text.size(); });
    } else if (value.type == GgufType::array && value.element != GgufType::array) {
      for (std::uint64_t i = 0; i < value.count; ++i) value.integer_element(i);
    }
    accepted([&] { file.text(key); });
    accepted([&] { file.flag(key); });
    accepted([&] { file.number(key); });
    accepted([&] { file.integer(key, -5, 5); });
  }
}

void use_tokenizer(const TokenizerTables& tables) {
  if (tables.family != TokenizerTables::Family::byte_level_bpe) return;
  accepted([&] {
    const auto tokenizer = make_tokenizer(tables);
    for (const int id : tokenizer->encode("The abcd\n 12\xff")) require(id >= 0 && id < tokenizer->size(), "an id lies in the vocabulary");
  });
}

void look_at_model(const Gguf& file) {
  const Model model = read_gguf(file);
  std::vector<const Tensor*> tensors{&model.weights.embedding, &model.weights.final_norm.weight};
  for (const LayerWeights& layer : model.weights.layers) {
    for (const LinearWeights* linear : {&layer.q, &layer.k, &layer.v, &layer.output, &layer.up, &layer.down}) {
      tensors.push_back(&linear->weight);
      if (linear->bias) tensors.push_back(&*linear->bias);
    }
  }
  for (const Tensor* tensor : tensors) decode_ends(*tensor);
  require(model.spec.layers == static_cast<int>(model.weights.layers.size()), "the layers are as many as the spec says");
  require(!to_json(model.spec).empty(), "an accepted spec can be shown");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  accepted([&] {
    const Gguf file(std::as_bytes(std::span(data, size)), "file.gguf");
    look_at_keys(file);
    for (const Tensor& tensor : list_tensors(file)) decode_ends(tensor);
    accepted([&] { read_gguf_chat_template(file); });
    accepted([&] { use_tokenizer(read_gguf_tokenizer(file)); });
    accepted([&] { look_at_model(file); });
  });
  return 0;
}
