// From a config and a model file, a GGUF or an engine file, to an engine that runs on the CPU path, with kernels for the config's shape.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include <diecast/cpu/cpu.hpp>
#include <diecast/cpu/engine_file.hpp>
#include <diecast/files/compiled.hpp>
#include <diecast/files/gguf_model.hpp>
#include <diecast/generate/engine.hpp>
#include <diecast/tokens/make_tokenizer.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::cpu::inline DIECAST_ISA {

// Refuses a file that is not the config's model. threads 0: as many as the machine has.
template <class Config>
Engine load(const std::string& path, Options options = {.threads = 0}) {
  if (options.threads <= 0) options.threads = (std::max)(1, static_cast<int>(std::thread::hardware_concurrency()));
  const AcceptModel accept = [](const Spec& spec, std::span<const Format> formats) { check_compiled(compiled<Config>(), spec, formats); };
  Model model;
  std::shared_ptr<const PackedModel> packed;
  if (is_engine_file(path)) {
    EngineFile file = open_engine_file(path, accept);
    model = std::move(file.model);
    packed = std::move(file.packed);
  } else {
    model = read_gguf(path, accept);
    packed = std::make_shared<const PackedModel>(pack(model.spec, model.weights, options.threads));
    model.weights = {};  // the packed ones are all that is needed
  }
  check_facts(compiled<Config>(), model);
  auto backend = std::make_shared<const Cpu<shape_of(Config::spec, Config::formats)>>(std::move(packed), options);
  auto tokenizer = make_tokenizer(model.tokenizer);
  return Engine(std::move(model), std::move(backend), std::move(tokenizer), compiled<Config>().parsed_template);
}

}  // namespace diecast::cpu::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
