// A model folder as one run of bytes: a mark, the folder's name, a table of the files (name, begin, size), then the files, each at a multiple of
// 64 bytes, as safetensors files align their tensors from their begin. Whole numbers are 8 bytes, the least first; nothing is unpacked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <diecast/error.hpp>
#include <diecast/files/folder.hpp>

namespace diecast::cast {

constexpr std::string_view packed_mark = "Diecast folder 1";
constexpr std::uint64_t packed_alignment = 64;

constexpr std::uint64_t aligned(std::uint64_t offset, std::uint64_t to) { return (offset + to - 1) / to * to; }

// The head of a packed folder, and what stands behind it at which offset from its begin.
struct Packing {
  std::string head;
  std::vector<std::pair<std::uint64_t, FileBytes>> files;
  std::uint64_t size = 0;
};

inline Packing pack(const Folder& folder, const std::vector<std::string>& names) {
  const auto put = [](std::string& out, std::uint64_t number) {
    for (int i = 0; i < 8; ++i) out += static_cast<char>(number >> (8 * i) & 255);
  };
  const auto put_text = [&](std::string& out, const std::string& text) {
    put(out, text.size());
    out += text;
  };
  std::uint64_t end = packed_mark.size() + 8 + folder.name().size() + 8;
  for (const std::string& name : names) end += 8 + name.size() + 16;
  Packing packing;
  packing.head = packed_mark;
  put_text(packing.head, folder.name());
  put(packing.head, names.size());
  for (const std::string& name : names) {
    FileBytes file = folder.open(name);
    const std::uint64_t begin = aligned(end, packed_alignment);
    end = begin + file.bytes.size();
    put_text(packing.head, name);
    put(packing.head, begin);
    put(packing.head, file.bytes.size());
    packing.files.emplace_back(begin, std::move(file));
  }
  packing.size = end;
  return packing;
}

inline bool is_packed_folder(std::span<const std::byte> bytes) {
  return bytes.size() >= packed_mark.size() && std::memcmp(bytes.data(), packed_mark.data(), packed_mark.size()) == 0;
}

// `where` opens every sentence; `owner` keeps the bytes alive. Believes no number before it has held it against the bytes that are there.
inline Folder unpack(std::span<const std::byte> bytes, const std::string& where, const std::shared_ptr<const void>& owner) {
  std::size_t at = packed_mark.size();
  const auto damaged = [&](const std::string& what) { return Error(where + " is damaged: " + what); };
  if (!is_packed_folder(bytes)) throw damaged("it is no packed folder");
  const auto number = [&] {
    if (bytes.size() - at < 8) throw damaged("it ends inside its table of files");
    std::uint64_t value = 0;
    for (std::size_t i = 8; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[at + i]);
    at += 8;
    return value;
  };
  const auto text = [&] {
    const std::uint64_t size = number();
    if (size > bytes.size() - at) throw damaged("a name would have " + std::to_string(size) + " bytes, " + std::to_string(bytes.size() - at) + " are left");
    const std::string found(reinterpret_cast<const char*>(bytes.data() + at), static_cast<std::size_t>(size));
    at += found.size();
    return found;
  };
  std::string folder_name = text();
  Folder::Files files;
  for (std::uint64_t left = number(); left > 0; --left) {
    std::string name = text();
    const std::uint64_t begin = number();
    const std::uint64_t size = number();
    if (begin > bytes.size() || size > bytes.size() - begin)
      throw damaged("a file would have " + std::to_string(size) + " bytes at " + std::to_string(begin) + ", all have " + std::to_string(bytes.size()));
    if (!files.emplace(std::move(name), FileBytes{bytes.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(size)), owner}).second)
      throw damaged("a file is in it twice");
  }
  return Folder(where, std::move(folder_name), std::move(files));
}

}  // namespace diecast::cast
