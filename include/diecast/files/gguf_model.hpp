// A whole model out of a GGUF file: spec, weights, tokenizer, chat template, generation defaults.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <diecast/files/gguf.hpp>
#include <diecast/files/gguf_spec.hpp>
#include <diecast/files/gguf_tensors.hpp>
#include <diecast/files/gguf_tokenizer.hpp>
#include <diecast/files/gguf_weights.hpp>
#include <diecast/files/model.hpp>
#include <diecast/spec/check.hpp>

namespace diecast {

inline Model read_gguf(const Gguf& file, const AcceptModel& accept = {}) {
  Model model;
  model.path = file.where();
  model.architecture = read_gguf_architecture(file);
  model.name = file.text("general.name").value_or("");
  if (file.tensors().empty()) file.fail("the file has no tensors: it holds a vocabulary only");
  GgufTensors tensors(file);
  model.spec = read_gguf_spec(file, tensors);
  try {
    check_file(model.spec);
  } catch (const Error& impossible) {
    file.fail(impossible.what());
  }
  model.weights = read_gguf_weights(file, tensors, model.spec);
  tensors.refuse_leftovers(model.architecture);
  model.tokenizer = read_gguf_tokenizer(file);
  if (model.tokenizer.pieces.size() > static_cast<std::size_t>(model.spec.vocab)) {
    file.fail("the tokenizer has " + std::to_string(model.tokenizer.pieces.size()) + " ids, the embedding only " + std::to_string(model.spec.vocab) + " rows");
  }
  model.chat_template = read_gguf_chat_template(file);
  model.generation.eos = read_gguf_eos(file, model.tokenizer.pieces.size());
  if (accept) {
    std::vector<Format> formats;
    for (const GgufTensor& tensor : file.tensors())
      if (std::find(formats.begin(), formats.end(), tensor.format) == formats.end()) formats.push_back(tensor.format);
    accept(model.spec, formats);
  }
  // Some are stored for turning neighbouring pairs. Last, because it is what takes memory.
  if (gguf_detail::find_family(model.architecture)->neighbouring_pairs) move_pairs_to_halves(file, model.weights, model.spec);
  return model;
}

namespace gguf_detail {
template <class = void>  // for <diecast/compiled.hpp>, as in chat/chat_template.hpp
Model read_file(const std::string& path, const AcceptModel& accept) {
  return read_gguf(Gguf::open(path), accept);
}
}  // namespace gguf_detail

inline Model read_gguf(const std::string& path, const AcceptModel& accept = {}) { return gguf_detail::read_file(path, accept); }

}  // namespace diecast
