// The command line of an engine binary. It is compiled once for all models; a model's own unit is a few lines (CMake's diecast_engine
// writes them from a config) that hand over what was compiled in.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include <diecast/files/format.hpp>
#include <diecast/spec/check.hpp>
#include <diecast/spec/spec.hpp>

namespace diecast::shell {

struct Compiled {
  std::string_view name;
  std::optional<Spec> spec;          // absent: the engine takes any model
  std::span<const Format> formats;   // accepted; empty with an absent spec
};

template <class Config>
Compiled compiled() {
  static_assert(possible<Config>);
  return {Config::name, Config::spec, Config::formats};
}

// Runs a command line; returns the exit status: 0, 2 for what the user can mend, 1 for anything else.
int main(const Compiled& compiled, int argc, char** argv);

}  // namespace diecast::shell
