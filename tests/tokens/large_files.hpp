// Finds the files that a clone need not have: real vocabularies in the shared material beside the checkout, real models in the user's cache.
#pragma once

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace tokens_test {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::optional<std::filesystem::path> existing(const std::filesystem::path& path) {
  if (std::filesystem::exists(path)) return path;
  WARN("skipped: there is no " << path.string());
  return std::nullopt;
}

// The shared material beside the checkout, or where DIECAST_SHARED says.
inline std::optional<std::filesystem::path> shared_file(const std::string& name) {
  const char* folder = std::getenv("DIECAST_SHARED");
  return existing((folder ? std::filesystem::path(folder) : std::filesystem::path(DIECAST_SOURCE_DIR) / "../shared") / name);
}
// A known model in the user's cache.
inline std::optional<std::filesystem::path> cached_file(const std::string& name) {
  const char* folder = std::getenv("DIECAST_CACHE");
  const char* home = std::getenv("HOME");
  return existing((folder ? std::filesystem::path(folder) : std::filesystem::path(home ? home : ".") / ".cache/diecast") / "models" / name);
}

}  // namespace tokens_test
