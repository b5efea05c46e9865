// The files of a model folder by their names: those of a directory, or those that lie in memory already, as in a program that carries its
// model. Whoever reads a folder asks here, so that it need not know which.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <diecast/error.hpp>
#include <diecast/files/mapping.hpp>

namespace diecast {

struct FileBytes {
  std::span<const std::byte> bytes{};
  std::shared_ptr<const void> owner{};  // keeps the bytes alive
};

class Folder {
 public:
  using Files = std::map<std::string, FileBytes, std::less<>>;

  explicit Folder(const std::string& path) : where_(path) {
    if (!std::filesystem::is_directory(path)) throw Error(path + " is not a folder");
    std::error_code error;
    auto whole = std::filesystem::canonical(path, error);
    if (error) whole = path;
    name_ = whole.filename().string();
  }
  // `where` opens sentences: "the model inside this program"; `name` is the folder's own.
  Folder(std::string where, std::string name, Files files) : where_(std::move(where)), name_(std::move(name)), files_(std::move(files)) {}

  const std::string& where() const { return where_; }
  const std::string& name() const { return name_; }
  // Where a file lies, for a sentence; of a directory it is the path.
  std::string where(const std::string& file) const { return files_ ? where_ + ": " + file : (std::filesystem::path(where_) / file).string(); }
  bool has(const std::string& file) const { return files_ ? files_->contains(file) : std::filesystem::exists(where(file)); }

  FileBytes open(const std::string& file) const {
    if (!files_) {
      auto mapping = Mapping::open(where(file));
      const auto bytes = mapping->bytes();
      return {bytes, std::move(mapping)};
    }
    const auto found = files_->find(file);
    if (found == files_->end()) throw Error(where_ + " has no " + file);
    return found->second;
  }

 private:
  std::string where_;
  std::string name_;
  std::optional<Files> files_{};  // absent: a directory
};

}  // namespace diecast
