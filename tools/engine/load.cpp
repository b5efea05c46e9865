#include "load.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include <fmt/core.h>

#include <diecast/cpu/parts.hpp>
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

Model open_checked(const Compiled& compiled, const CommonOptions& options) {
  const AcceptModel accept = [&](const Spec& spec, std::span<const Format> formats) { check_compiled(compiled, spec, formats); };
  std::optional<Gguf> own;
  if (options.model.empty()) own = cast::embedded_model();
  Model model = own ? read_gguf(*own, accept) : open_model(model_path(options), accept);
  check_identity(compiled, model, compiled.identity ? identity_without_weights(model) : Identity{});
  return model;
}

int context_tokens(const CommonOptions& options, const Spec& spec) {
  const int tokens = options.context.value_or(std::min(spec.context, 8192));
  if (tokens < 1 || tokens > spec.context) throw Error(fmt::format("--context {} is not possible: this model holds 1 to {} tokens", tokens, spec.context));
  return tokens;
}

namespace {

long long reference_bytes(const CommonOptions& options, const Spec& spec) {
  const long long real = options.backend == "reference-double" ? 8 : 4;
  const Attention& a = spec.attention;
  const long long q = static_cast<long long>(a.heads) * a.head_dim, kv = static_cast<long long>(a.kv_heads) * a.head_dim;
  const bool gated = std::holds_alternative<GatedMlp>(spec.mlp);
  const long long width = std::visit([](const auto& mlp) { return mlp.width; }, spec.mlp);
  const long long layer = spec.hidden * (2 * q + 2 * kv + (gated ? 3 : 2) * width);
  const long long tables = (std::holds_alternative<UntiedHead>(spec.head) ? 2LL : 1LL) * spec.vocab * spec.hidden +
                           (std::holds_alternative<Absolute>(spec.position) ? static_cast<long long>(std::get<Absolute>(spec.position).positions) * spec.hidden : 0);
  const long long cache = 2LL * kv * spec.layers * context_tokens(options, spec);
  return real * (tables + layer * spec.layers + cache);
}

cpu::CacheType cpu_cache(const CommonOptions& options) {
  const auto type = options.cache_type.empty() ? cpu::CacheType::f16 : cpu::cache_type_of(options.cache_type);
  if (!type) throw Error(fmt::format("there is no cache type '{}' with the backend cpu: it keeps K and V in f16, bf16 or f32", options.cache_type));
  return *type;
}

cpu::Precision precision_of(const CommonOptions& options) {
  const auto precision = cpu::precision_of(options.precision);
  if (!precision) throw Error(fmt::format("there is no precision '{}': the backend cpu has fast, balanced and exact", options.precision));
  return *precision;
}

}  // namespace

long long memory_bytes(const CommonOptions& options, const Model& model) {
  if (options.backend != "cpu") return reference_bytes(options, model.spec);
  return static_cast<long long>(cpu::packed_bytes(model.weights) + cpu::cache_bytes(model.spec, context_tokens(options, model.spec), cpu_cache(options)));
}

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
    return;
  }
  const bool in_double = options.backend == "reference-double";
  if (options.backend != "reference" && !in_double)
    throw Error(fmt::format("there is no backend '{}': this engine has cpu, reference and reference-double", options.backend));
  const std::string_view kept = in_double ? "f64" : "f32";
  if (!options.cache_type.empty() && options.cache_type != kept)
    throw Error(fmt::format("there is no cache type '{}' with the backend {}: it keeps K and V in {}", options.cache_type, options.backend, kept));
}

std::shared_ptr<const Backend> make_backend(const CommonOptions& options, const Model& model) {
  check_backend(options);
  const long long needed = memory_bytes(options, model);
  const long long present = static_cast<long long>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGE_SIZE);
  if (needed > present)
    throw Error(fmt::format("weights and a cache of {} tokens take {} MB, this machine has {} MB: a smaller --context takes less",
                            context_tokens(options, model.spec), needed >> 20, present >> 20));
  if (options.backend == "cpu") return options.cpu.make(model.spec, model.weights, {thread_count(options), cpu_cache(options), precision_of(options)});
  if (options.backend == "reference-double") return std::make_shared<Reference<double>>(model.spec, model.weights, thread_count(options));
  return std::make_shared<Reference<float>>(model.spec, model.weights, thread_count(options));
}

Engine load(const Compiled& compiled, const CommonOptions& options) {
  Model model = open_checked(compiled, options);
  auto tokenizer = make_any_tokenizer(model.tokenizer);
  auto backend = make_backend(options, model);
  return Engine(std::move(model), std::move(backend), std::move(tokenizer), compiled.parsed_template);
}

Engine load_without_backend(const Compiled& compiled, const CommonOptions& options) {
  Model model = open_checked(compiled, options);
  auto tokenizer = make_any_tokenizer(model.tokenizer);
  return Engine(std::move(model), nullptr, std::move(tokenizer), compiled.parsed_template);
}

PromptText render(const Engine& engine, const std::vector<Message>& messages) { return engine.prompt(messages); }

}  // namespace diecast::shell
