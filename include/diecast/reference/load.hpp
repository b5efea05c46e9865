// From a config and a GGUF file to an engine that runs on the reference.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include <diecast/files/compiled.hpp>
#include <diecast/files/gguf_model.hpp>
#include <diecast/generate/engine.hpp>
#include <diecast/isa.hpp>
#include <diecast/reference/reference.hpp>
#include <diecast/tokens/make_tokenizer.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::reference::inline DIECAST_ISA {

// Refuses a file that is not the config's model. threads 0: as many as the machine has.
template <class Config>
Engine load(const std::string& gguf, int threads = 0) {
  Model model = read_gguf(gguf, [](const Spec& spec, std::span<const Format> formats) { check_compiled(compiled<Config>(), spec, formats); });
  check_facts(compiled<Config>(), model);
  if (threads <= 0) threads = (std::max)(1, static_cast<int>(std::thread::hardware_concurrency()));
  auto backend = std::make_shared<const Reference<float>>(model.spec, model.weights, threads);
  auto tokenizer = make_tokenizer(model.tokenizer);
  return Engine(std::move(model), std::move(backend), std::move(tokenizer), compiled<Config>().parsed_template);
}

}  // namespace diecast::reference::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
