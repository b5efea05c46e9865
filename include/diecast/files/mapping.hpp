// A file in memory without reading it: a read-only mapping that lives as long as anybody points into it (POSIX mmap).
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include <diecast/error.hpp>

namespace diecast {

class Mapping {
 public:
  // The caller keeps the shared pointer (Tensor::owner) as long as it uses bytes().
  static std::shared_ptr<const Mapping> open(const std::string& path) { return std::shared_ptr<const Mapping>(new Mapping(path)); }

  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (size_ > 0) ::munmap(address_, size_);
  }

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(address_), size_}; }
  const std::string& path() const { return path_; }

 private:
  explicit Mapping(const std::string& path) : path_(path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) throw Error(path + " cannot be opened: " + std::strerror(errno));
    struct stat status {};
    if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
      ::close(file);
      throw Error(path + " is not a regular file");
    }
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ > 0) {
      address_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
      const int error = errno;
      ::close(file);
      if (address_ == MAP_FAILED) {
        size_ = 0;
        throw Error(path + " cannot be mapped: " + std::strerror(error));
      }
    } else {
      ::close(file);
    }
  }

  std::string path_;
  void* address_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace diecast
