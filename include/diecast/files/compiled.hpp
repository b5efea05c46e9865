// What was compiled into an engine, and the refusal of any file that is not that model: every differing field with both values,
// formats outside the config's set by name, before anything of the weights' size is allocated.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <diecast/error.hpp>
#include <diecast/files/format.hpp>
#include <diecast/spec/check.hpp>
#include <diecast/spec/compare.hpp>
#include <diecast/spec/spec.hpp>

namespace diecast {

struct Compiled {
  std::string_view name;
  std::optional<Spec> spec;         // absent: any possible model is taken
  std::span<const Format> formats;  // accepted; only with a spec
};

template <class Config>
Compiled compiled() {
  static_assert(possible<Config>);
  return {Config::name, Config::spec, Config::formats};
}

inline void check_compiled(const Compiled& compiled, const Spec& file, std::span<const Format> formats) {
  check_file(file);
  if (!compiled.spec) return;
  std::vector<std::string> different = differences(*compiled.spec, file);
  std::string accepted;
  for (const Format format : compiled.formats) accepted += (accepted.empty() ? "" : ", ") + std::string(layout(format).name);
  for (const Format format : formats)
    if (std::find(compiled.formats.begin(), compiled.formats.end(), format) == compiled.formats.end())
      different.push_back("formats: compiled " + accepted + ", file " + std::string(layout(format).name));
  if (different.empty()) return;
  std::string sentence = "the file is not the model that this engine was compiled for (" + std::string(compiled.name) + ")";
  for (std::size_t i = 0; i < different.size(); ++i) sentence += (i == 0 ? ": " : "; ") + different[i];
  throw Error(sentence);
}

}  // namespace diecast
