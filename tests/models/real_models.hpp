// Where the real models lie: tiny-shakespeare in this project, the others in the user's cache, where ./cast and ./check put them.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace diecast::testing {

inline std::filesystem::path cache_folder() {
  if (const char* folder = std::getenv("DIECAST_CACHE")) return folder;
  if (const char* folder = std::getenv("XDG_CACHE_HOME")) return std::filesystem::path(folder) / "diecast";
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home ? home : "/") / ".cache/diecast";
}

// Absent where the model was never fetched: the test says that it skips.
inline std::optional<std::string> real_model(const std::string& name) {
  if (name == "tiny-shakespeare") return (std::filesystem::path(DIECAST_SOURCE_DIR) / "models/tiny-shakespeare").string();
  const std::filesystem::path file = cache_folder() / "models" / (name + ".gguf");
  return std::filesystem::exists(file) ? std::optional(file.string()) : std::nullopt;
}

}  // namespace diecast::testing
