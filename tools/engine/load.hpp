// From a path to an engine: the file is opened, held against the compiled spec, its memory computed, then its backend built.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <diecast/cpu/engine_file.hpp>
#include <diecast/generate/engine.hpp>
#include <diecast/identity/identity.hpp>
#include <diecast/trace/trace.hpp>

#include "options.hpp"

namespace diecast::shell {

// The path of --model, or of the model that cast noted beside the engine.
std::string model_path(const CommonOptions&);

// An engine file comes packed, and its model has no weights until somebody asks for them.
struct Opened {
  Model model;
  std::shared_ptr<const cpu::PackedModel> packed;  // null: from a model file
  Identity identity;                               // an engine file's as stored, a model file's without the weights'
};

// The model of --model, else the one inside this program, else the one beside it; refused where it is not the compiled one. Of a model file the
// weights' digest is left to `verify`: it reads every byte.
Opened open_checked(const Compiled&, const CommonOptions&);

// Weights and tokenizer as the model file had them.
void need_whole_model(Opened&);
// What the tokenizer computes from its tables, in their place: for an engine file, which starts faster then.
void prepare_tokenizer(Opened&);

// Tokens of a context, where the user says nothing: the model's, at most 8192.
int context_tokens(const CommonOptions&, const Spec&);

// Bytes that weights and a cache of so many tokens (absent: one context's) take with the chosen backend: decoded with the reference, packed with cpu.
long long memory_bytes(const CommonOptions&, const Opened&, std::optional<int> cache_tokens = {});

// Refuses a backend, a type of cache or a number of threads that this engine has not.
void check_backend(const CommonOptions&);

// Whether the backend runs device code: cuda or emulated.
bool on_device(const CommonOptions&);

int thread_count(const CommonOptions&);

// Refuses where weights and a cache of so many tokens do not fit this machine.
std::shared_ptr<const Backend> make_backend(const CommonOptions&, Opened&, std::optional<int> cache_tokens = {});

// The backend cuda or emulated, with what a device can do beside.
std::shared_ptr<const cuda::DeviceBackend> open_device(const CommonOptions&, Opened&);

Engine load(const Compiled&, const CommonOptions&);
Engine load(const Compiled&, const CommonOptions&, Opened&&, std::optional<int> cache_tokens = {});

// The file's tokenizer and template without anything to run.
Engine load_without_backend(const Compiled&, const CommonOptions&);

// Step 1, here so that the template language is compiled once.
PromptText render(const Engine&, const std::vector<Message>&);

}  // namespace diecast::shell
