// What the tests of this folder share: a temporary folder, small safetensors files written byte by byte, and the sentence of an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <diecast/error.hpp>
#include <diecast/files/hf_json.hpp>

namespace diecast::testing {

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "diecast-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string path() const { return path_; }
  void write(const std::string& name, std::string_view text) const {
    std::ofstream file(path_ + "/" + name, std::ios::binary | std::ios::trunc);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
  }
  void remove(const std::string& name) const { std::filesystem::remove(path_ + "/" + name); }

 private:
  std::string path_;
};

// The sentence that `run` fails with; empty when it does not.
template <typename Run>
std::string sentence(Run&& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

struct Stored {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::string bytes;
};

inline std::string little_endian(std::uint64_t number) {
  std::string text(8, '\0');
  for (char& c : text) {
    c = static_cast<char>(number & 255);
    number >>= 8;
  }
  return text;
}

inline std::string safetensors_raw(const std::string& header, const std::string& data) {
  return little_endian(header.size()) + header + data;
}

inline std::string safetensors_text(const std::vector<Stored>& tensors) {
  Json header = Json::object();
  std::string data;
  for (const Stored& tensor : tensors) {
    const std::size_t begin = data.size();
    data += tensor.bytes;
    header[tensor.name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
  }
  return safetensors_raw(header.dump(), data);
}

inline std::string floats(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

inline Stored stored(const std::string& name, const std::vector<std::uint64_t>& shape, const std::vector<float>& values) {
  return {name, "F32", shape, floats(values)};
}

inline std::vector<float> floats_of(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

}  // namespace diecast::testing
