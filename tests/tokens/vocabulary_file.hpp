// Reads the tokenizer's tables out of a GGUF file, for these tests only: trusting, field by field, so that they do not depend on the
// library's reader. And finds the files that a clone need not have.
#pragma once

#include <catch2/catch.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <diecast/files/model.hpp>

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
  return existing((folder ? std::filesystem::path(folder) : std::filesystem::path(home ? home : ".") / ".cache/diecast") / name);
}

class VocabularyFile {
 public:
  explicit VocabularyFile(const std::filesystem::path& path) : file_(path, std::ios::binary) {
    REQUIRE(text(4) == "GGUF");
    REQUIRE(number<std::uint32_t>() == 3);
    number<std::uint64_t>();
    const auto keys = number<std::uint64_t>();
    for (std::uint64_t i = 0; i < keys; ++i) {
      const std::string key = string();
      read_value(key, number<std::uint32_t>());
    }
    for (std::size_t id = 0; id < tables.pieces.size(); ++id) {
      const TokenKind kind = tables.kinds[id];
      const bool control = kind == TokenKind::control;
      if (control || kind == TokenKind::user_defined) tables.added.push_back({static_cast<int>(id), tables.pieces[id], control, false, false, false, false});
    }
    tables.ignore_merges = tables.pre_tokenizer == "llama-bpe";
  }

  diecast::TokenizerTables tables;

 private:
  using TokenKind = diecast::TokenKind;

  std::string text(std::uint64_t size) {
    std::string bytes(size, '\0');
    REQUIRE(file_.read(bytes.data(), static_cast<std::streamsize>(size)));
    return bytes;
  }
  std::string string() { return text(number<std::uint64_t>()); }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, text(sizeof(T)).data(), sizeof(T));
    return value;
  }
  static std::uint64_t width(std::uint32_t type) { return std::vector<std::uint64_t>{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}.at(type); }

  void read_value(const std::string& key, std::uint32_t type) {
    if (type == 9) {
      const auto item = number<std::uint32_t>();
      const auto count = number<std::uint64_t>();
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::string value = item == 8 ? string() : text(width(item));
        if (key == "tokenizer.ggml.tokens") tables.pieces.push_back(value);
        if (key == "tokenizer.ggml.merges") tables.merges.push_back(value);
        if (key == "tokenizer.ggml.token_type") tables.kinds.push_back(static_cast<TokenKind>(value[0]));
        if (key == "tokenizer.ggml.scores") {
          float score;
          std::memcpy(&score, value.data(), 4);
          tables.scores.push_back(score);
        }
      }
      return;
    }
    const std::string value = type == 8 ? string() : text(width(type));
    const auto id = [&] {
      std::uint32_t bits;
      std::memcpy(&bits, value.data(), 4);
      return static_cast<int>(bits);
    };
    if (key == "tokenizer.ggml.model" && value == "llama") tables.family = diecast::TokenizerTables::Family::sentencepiece;
    if (key == "tokenizer.ggml.pre") tables.pre_tokenizer = value;
    if (key == "tokenizer.ggml.bos_token_id") tables.bos = id();
    if (key == "tokenizer.ggml.eos_token_id") tables.eos = id();
    if (key == "tokenizer.ggml.unknown_token_id") tables.unknown = id();
    if (key == "tokenizer.ggml.add_bos_token") tables.add_bos = value[0] != 0;
    if (key == "tokenizer.ggml.add_space_prefix") tables.add_space_prefix = value[0] != 0;
  }

  std::ifstream file_;
};

}  // namespace tokens_test
