#include "load.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include <diecast/cpu/engine_file.hpp>
#include <diecast/cpu/parts.hpp>
#include <diecast/cpu/unpack.hpp>
#include <diecast/files/open.hpp>
#include <diecast/identity/identity.hpp>
#include <diecast/reference/reference.hpp>
#include <diecast/tokens/sentencepiece.hpp>

#include "../cast/embedded.hpp"

namespace diecast::shell {

std::string model_path(const CommonOptions& options) {
  if (!options.model.empty()) return options.model;
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path noted = self.string() + ".model";  // a link that cast leaves beside the engine
  if (!error && std::filesystem::exists(noted, error)) return std::filesystem::canonical(noted).string();
  throw Error("no model file was named: --model FILE");
}

Opened open_checked(const Compiled& compiled, const CommonOptions& options) {
  const AcceptModel accept = [&](const Spec& spec, std::span<const Format> formats) { check_compiled(compiled, spec, formats); };
  std::optional<cpu::EngineFile> packed;
  if (options.model.empty()) packed = cast::embedded_model(accept);
  std::string path;
  if (!packed) {
    path = model_path(options);
    if (cpu::is_engine_file(path)) packed = cpu::open_engine_file(path, accept);
  }
  Opened opened;
  if (packed) {
    const cpu::StoredDigests& stored = packed->digests;
    opened = {std::move(packed->model), std::move(packed->packed), {stored.weights, stored.tokenizer, stored.chat_template, stored.generation, stored.whole}};
  } else {
    opened.model = open_model(path, accept);
    if (compiled.identity) opened.identity = identity_without_weights(opened.model);
  }
  check_identity(compiled, opened.model, compiled.identity ? opened.identity : Identity{});
  return opened;
}

void need_whole_model(Opened& opened) {
  if (!opened.packed || !opened.model.weights.layers.empty()) return;
  opened.model.weights = cpu::unpack_weights(*opened.packed);
  opened.model.tokenizer = cpu::unpack_tokenizer(opened.model);
}

void prepare_tokenizer(Opened& opened) { opened.model.tokenizer = prepared(opened.model.tokenizer); }

int context_tokens(const CommonOptions& options, const Spec& spec) {
  const int tokens = options.context.value_or(std::min(spec.context, 8192));
  if (tokens < 1 || tokens > spec.context) throw Error(fmt::format("--context {} is not possible: this model holds 1 to {} tokens", tokens, spec.context));
  return tokens;
}

namespace {

long long reference_bytes(const CommonOptions& options, const Spec& spec, int tokens) {
  const long long real = options.backend == "reference-double" ? 8 : 4;
  const Attention& a = spec.attention;
  const long long q = static_cast<long long>(a.heads) * a.head_dim, kv = static_cast<long long>(a.kv_heads) * a.head_dim;
  const bool gated = std::holds_alternative<GatedMlp>(spec.mlp);
  const long long width = std::visit([](const auto& mlp) { return mlp.width; }, spec.mlp);
  const long long layer = spec.hidden * (2 * q + 2 * kv + (gated ? 3 : 2) * width);
  const long long tables = (std::holds_alternative<UntiedHead>(spec.head) ? 2LL : 1LL) * spec.vocab * spec.hidden +
                           (std::holds_alternative<Absolute>(spec.position) ? static_cast<long long>(std::get<Absolute>(spec.position).positions) * spec.hidden : 0);
  const long long cache = 2LL * kv * spec.layers * tokens;
  return real * (tables + layer * spec.layers + cache);
}

cpu::CacheType cpu_cache(const CommonOptions& options) {
  const auto type = options.cache_type.empty() ? cpu::CacheType::f16 : cpu::cache_type_of(options.cache_type);
  if (!type) throw Error(fmt::format("there is no cache type '{}' with the backend cpu: it keeps K and V in f16, bf16, f32 or q8", options.cache_type));
  return *type;
}

bool screens(const CommonOptions& options) {
  if (options.head != "screened" && options.head != "whole") throw Error(fmt::format("there is no way '{}' to read the head: the backend cpu has screened and whole", options.head));
  return options.head == "screened";
}

// The function of this engine that opens a device of its backend.
cuda::OpenDevice device_of(const CommonOptions& options) {
  const bool emulated = options.backend == "emulated";
  const cuda::OpenDevice open = emulated ? options.devices.emulated : options.devices.cuda;
  if (open == nullptr)
    throw Error(fmt::format("this engine was built without its device code, which the backend {0} runs: ./cast --{0} SOURCE builds one that has it", options.backend));
  return open;
}

cpu::Precision precision_of(const CommonOptions& options) {
  const auto precision = cpu::precision_of(options.precision);
  if (!precision) throw Error(fmt::format("there is no precision '{}': the backend cpu has fast, balanced and exact", options.precision));
  return *precision;
}

}  // namespace

long long memory_bytes(const CommonOptions& options, const Opened& opened, std::optional<int> cache_tokens) {
  const int tokens = cache_tokens.value_or(context_tokens(options, opened.model.spec));
  const Spec& spec = opened.model.spec;
  if (options.backend != "cpu") return reference_bytes(options, spec, tokens);
  const std::size_t weights = opened.packed ? opened.packed->bytes.size() : cpu::packed_bytes(spec, opened.model.weights);
  return static_cast<long long>(weights + cpu::cache_bytes(spec, tokens, cpu_cache(options)));
}

bool on_device(const CommonOptions& options) { return options.backend == "emulated" || options.backend == "cuda"; }

int thread_count(const CommonOptions& options) {
  if (options.threads < 0 || options.threads > 1024) throw Error(fmt::format("--threads {} is not possible: it may be 0 to 1024", options.threads));
  return options.threads > 0 ? options.threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void check_backend(const CommonOptions& options) {
  thread_count(options);
  if (options.backend == "cpu") {
    cpu::check_machine(options.cpu);
    cpu_cache(options);
    precision_of(options);
    screens(options);
    return;
  }
  if (on_device(options)) {
    device_of(options);
    if (options.kernels != "whole" && options.kernels != "single") throw Error(fmt::format("there is no way '{}' to run a token: kernels are whole or single", options.kernels));
    if (!options.cache_type.empty()) throw Error(fmt::format("--cache-type does nothing with the backend {}: its kernels are compiled for one type", options.backend));
    return;
  }
  const bool in_double = options.backend == "reference-double";
  if (options.backend != "reference" && !in_double)
    throw Error(fmt::format("there is no backend '{}': this engine has cpu, {}{}reference and reference-double", options.backend, options.devices.cuda ? "cuda, " : "",
                            options.devices.emulated ? "emulated, " : ""));
  const std::string_view kept = in_double ? "f64" : "f32";
  if (!options.cache_type.empty() && options.cache_type != kept)
    throw Error(fmt::format("there is no cache type '{}' with the backend {}: it keeps K and V in {}", options.cache_type, options.backend, kept));
}

std::shared_ptr<const Backend> make_backend(const CommonOptions& options, Opened& opened, std::optional<int> cache_tokens) {
  check_backend(options);
  const Spec& spec = opened.model.spec;
  const long long needed = memory_bytes(options, opened, cache_tokens);
  const long long present = static_cast<long long>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGE_SIZE);
  if (needed > present)
    throw Error(fmt::format("weights and a cache of {} tokens take {} MB, this machine has {} MB: a smaller --context takes less",
                            cache_tokens.value_or(context_tokens(options, spec)), needed >> 20, present >> 20));
  if (options.backend == "cpu") {
    const cpu::Options chosen{thread_count(options), cpu_cache(options), precision_of(options), screens(options)};
    return opened.packed ? options.cpu.run(opened.packed, chosen)
                         : options.cpu.run(std::make_shared<const cpu::PackedModel>(cpu::pack(spec, opened.model.weights, chosen.threads)), chosen);
  }
  need_whole_model(opened);
  if (on_device(options)) return open_device(options, opened);
  if (options.backend == "reference-double") return std::make_shared<Reference<double>>(spec, opened.model.weights, thread_count(options));
  return std::make_shared<Reference<float>>(spec, opened.model.weights, thread_count(options));
}

std::shared_ptr<const cuda::DeviceBackend> open_device(const CommonOptions& options, Opened& opened) {
  need_whole_model(opened);
  return device_of(options)(opened.model.weights, {.whole = options.kernels == "whole", .tensor_cores = true});
}

Engine load(const Compiled& compiled, const CommonOptions& options) { return load(compiled, options, open_checked(compiled, options)); }

Engine load(const Compiled& compiled, const CommonOptions& options, Opened&& opened, std::optional<int> cache_tokens) {
  auto tokenizer = make_any_tokenizer(opened.model.tokenizer);
  auto backend = make_backend(options, opened, cache_tokens);
  return Engine(std::move(opened.model), std::move(backend), std::move(tokenizer), compiled.parsed_template);
}

Engine load_without_backend(const Compiled& compiled, const CommonOptions& options) {
  Opened opened = open_checked(compiled, options);
  auto tokenizer = make_any_tokenizer(opened.model.tokenizer);
  return Engine(std::move(opened.model), nullptr, std::move(tokenizer), compiled.parsed_template);
}

PromptText render(const Engine& engine, const std::vector<Message>& messages) { return engine.prompt(messages); }

}  // namespace diecast::shell
