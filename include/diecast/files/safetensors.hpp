// The safetensors container: 8 bytes with the header's length, a JSON header that names tensors, their bytes without a gap.
// Reads strictly what the format text asks for (https://github.com/huggingface/safetensors, "Format"): nothing is allocated
// by a number that the file only claims, and every defect has a sentence of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <diecast/error.hpp>
#include <diecast/files/folder.hpp>
#include <diecast/files/format.hpp>
#include <diecast/files/hf_json.hpp>

namespace diecast {

struct SafetensorsEntry {
  std::string name;
  std::string dtype;                 // as the file spells it: "F16"
  std::vector<std::uint64_t> shape;  // [] is a scalar
  std::span<const std::byte> bytes{};
  std::shared_ptr<const void> owner{};
};

namespace hf_detail {

inline constexpr std::uint64_t header_limit = 100'000'000;  // the format's cap

// Bits of one value; absent for a name that the format does not have.
inline std::optional<std::uint64_t> bits_of(std::string_view dtype) {
  static constexpr std::pair<std::string_view, std::uint64_t> all[] = {
      {"BOOL", 8},    {"U8", 8},      {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F4", 4},
      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"I16", 16}, {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},
      {"U32", 32},    {"F32", 32},    {"I64", 64}, {"U64", 64},    {"F64", 64},    {"C64", 64}};
  for (const auto& [name, bits] : all)
    if (name == dtype) return bits;
  return std::nullopt;
}

inline std::uint64_t unsigned_or(const Json& value, const std::string& what) {
  if (!value.is_number_unsigned()) throw Error(what + " is " + shown(value) + ", and must be a whole number from 0 to 2^64 - 1");
  return value.get<std::uint64_t>();
}

struct Placed {
  SafetensorsEntry entry;
  std::uint64_t begin;
  std::uint64_t end;
};

// One tensor's line of the header, alone: its types, begin <= end, and shape x dtype equal to the span.
inline Placed header_line(const std::string& name, const Json& value, const std::string& path) {
  const Fields line(value, path + ": tensor " + in_quotes(name));
  const std::string& where = line.where();
  for (const auto& [key, unused] : value.items())
    if (key != "dtype" && key != "shape" && key != "data_offsets") throw Error(where + " has the unknown key " + in_quotes(key));
  Placed placed{{.name = name, .dtype = line.need("dtype").is_string() ? *line.text("dtype") : std::string{}, .shape = {}}, 0, 0};
  const auto bits = bits_of(placed.entry.dtype);
  if (!bits) throw Error(where + " has the unknown dtype " + shown(line.need("dtype")));

  const Json& shape = line.need("shape");
  if (!shape.is_array()) throw Error(where + ": shape is " + shown(shape) + ", and must be a list");
  std::uint64_t size_in_bits = *bits;
  bool empty = false;
  for (const Json& extent : shape) {
    placed.entry.shape.push_back(unsigned_or(extent, where + ": an extent of its shape"));
    empty = empty || placed.entry.shape.back() == 0;
  }
  for (const std::uint64_t extent : placed.entry.shape)
    if (empty)
      size_in_bits = 0;
    else if (__builtin_mul_overflow(size_in_bits, extent, &size_in_bits))
      throw Error(where + " has a shape of more than 2^64 bits");

  const Json& offsets = line.need("data_offsets");
  if (!offsets.is_array() || offsets.size() != 2) throw Error(where + ": data_offsets must be a list of two numbers");
  placed.begin = unsigned_or(offsets[0], where + ": its begin");
  placed.end = unsigned_or(offsets[1], where + ": its end");
  if (placed.begin > placed.end)
    throw Error(where + " begins at byte " + std::to_string(placed.begin) + " after its end at byte " + std::to_string(placed.end));
  if (size_in_bits % 8 != 0) throw Error(where + " takes " + std::to_string(size_in_bits) + " bits, which is no whole number of bytes");
  if (size_in_bits / 8 != placed.end - placed.begin)
    throw Error(where + " needs " + std::to_string(size_in_bits / 8) + " bytes by its shape and dtype, and its offsets span " +
                std::to_string(placed.end - placed.begin));
  return placed;
}

}  // namespace hf_detail

// The tensors of one file, in the order of their bytes. `owner` keeps `file` alive; `path` is for messages.
inline std::vector<SafetensorsEntry> parse_safetensors(std::span<const std::byte> file, const std::shared_ptr<const void>& owner,
                                                       const std::string& path) {
  if (file.size() < 8)
    throw Error(path + " has " + std::to_string(file.size()) +
                " bytes; a safetensors file starts with 8 bytes for the length of its header");
  std::uint64_t header_size = 0;
  for (std::size_t i = 8; i-- > 0;) header_size = header_size << 8 | std::to_integer<std::uint64_t>(file[i]);
  if (header_size > hf_detail::header_limit)
    throw Error(path + ": the header claims " + std::to_string(header_size) + " bytes, more than the format's limit of " +
                std::to_string(hf_detail::header_limit));
  if (header_size > file.size() - 8)
    throw Error(path + ": the header claims " + std::to_string(header_size) + " bytes, and the file has " +
                std::to_string(file.size() - 8) + " after its first 8");
  const auto header_bytes = file.subspan(8, static_cast<std::size_t>(header_size));
  const auto data = file.subspan(8 + static_cast<std::size_t>(header_size));
  if (header_bytes.empty() || header_bytes[0] != std::byte{'{'}) throw Error(path + ": the header does not begin with {");

  const Json header = parse_json(as_text(header_bytes), path + " (header)", 8);
  std::vector<hf_detail::Placed> all;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") {
      const Fields metadata(value, path + ": __metadata__");
      for (const auto& [key, text] : value.items()) metadata.text(key);
      continue;
    }
    all.push_back(hf_detail::header_line(name, value, path));
  }

  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  std::uint64_t reached = 0;  // the bytes before are all taken
  const std::string* before = nullptr;
  for (const auto& placed : all) {
    const std::string where = path + ": tensor " + in_quotes(placed.entry.name);
    if (placed.begin < reached)
      throw Error(where + " begins at byte " + std::to_string(placed.begin) + ", inside tensor " + in_quotes(*before) +
                  " that ends at byte " + std::to_string(reached));
    if (placed.begin > reached)
      throw Error(where + " begins at byte " + std::to_string(placed.begin) + " and leaves a hole: the bytes before are taken only up to " +
                  std::to_string(reached));
    if (placed.end > data.size())
      throw Error(where + " ends at byte " + std::to_string(placed.end) + ", and the file has " + std::to_string(data.size()) +
                  " bytes of data");
    reached = placed.end;
    before = &placed.entry.name;
  }
  if (reached != data.size())
    throw Error(path + ": " + std::to_string(data.size() - reached) +
                " bytes after the last tensor belong to none: the tensors end at byte " + std::to_string(reached) + " of " +
                std::to_string(data.size()));

  std::vector<SafetensorsEntry> entries;
  for (auto& placed : all) {
    placed.entry.bytes = data.subspan(static_cast<std::size_t>(placed.begin), static_cast<std::size_t>(placed.end - placed.begin));
    placed.entry.owner = owner;
    entries.push_back(std::move(placed.entry));
  }
  return entries;
}

// A folder's files of weights, each with the tensors that an index promises for it: model.safetensors alone, or those that
// model.safetensors.index.json lists.
struct SafetensorsFiles {
  bool indexed = false;
  std::map<std::string, std::set<std::string>> promised;
};

inline SafetensorsFiles safetensors_files(const Folder& folder) {
  if (folder.has("model.safetensors")) return {.promised = {{"model.safetensors", {}}}};
  const std::string index_path = folder.where("model.safetensors.index.json");
  if (!folder.has("model.safetensors.index.json")) {
    if (folder.has("pytorch_model.bin") || folder.has("pytorch_model.bin.index.json"))
      throw Error(folder.where() + " has its weights only as pytorch_model.bin, which can run code when it is read: convert it to safetensors");
    throw Error(folder.where() + " has neither model.safetensors nor model.safetensors.index.json");
  }

  const Json index = read_json(folder, "model.safetensors.index.json");
  const Json& map = Fields(index, index_path).need("weight_map");
  const Fields names(map, index_path + ": weight_map");
  SafetensorsFiles files{.indexed = true, .promised = {}};
  for (const auto& [tensor, value] : map.items()) {
    const std::string file = names.need(tensor).is_string() ? *names.text(tensor) : std::string{};
    if (file.empty() || file.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos || file == "." || file == "..")
      throw Error(index_path + ": tensor " + in_quotes(tensor) + " lies in " + shown(value) + ", which is no file name");
    files.promised[file].insert(tensor);
  }
  return files;
}

// All tensors of a folder.
inline std::vector<SafetensorsEntry> read_safetensors_folder(const Folder& folder) {
  SafetensorsFiles files = safetensors_files(folder);
  std::vector<SafetensorsEntry> all;
  for (auto& [file, promised] : files.promised) {
    const std::string path = folder.where(file);
    const FileBytes opened = folder.open(file);
    for (auto& entry : parse_safetensors(opened.bytes, opened.owner, path)) {
      if (files.indexed && promised.erase(entry.name) == 0)
        throw Error(path + ": tensor " + in_quotes(entry.name) + " is not listed for this file in model.safetensors.index.json");
      all.push_back(std::move(entry));
    }
    if (!promised.empty())
      throw Error(path + " lacks tensor " + in_quotes(*promised.begin()) + " that model.safetensors.index.json lists for it");
  }
  return all;
}
inline std::vector<SafetensorsEntry> read_safetensors_folder(const std::string& folder) { return read_safetensors_folder(Folder(folder)); }

}  // namespace diecast
