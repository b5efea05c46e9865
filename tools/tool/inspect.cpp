// `inspect`: a model file's spec, tokenizer, formats and tensors, without casting it.
#include <filesystem>
#include <map>
#include <vector>

#include <fmt/core.h>

#include <diecast/files/open.hpp>
#include <diecast/spec/compare.hpp>

#include "tool.hpp"

namespace diecast::tool {

std::string shown(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) safe += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else safe += c;
  }
  return safe;
}

namespace {

void print_model(const Model& model) {
  fmt::print("name: {}\narchitecture: {}\n", shown(model.name), shown(model.architecture));
  for (const auto& [path, text] : detail::fields_of(model.spec)) fmt::print("  {}: {}\n", path, text);
  const TokenizerTables& tables = model.tokenizer;
  fmt::print("tokenizer: {}{}{}, {} ids, {} merges, {} added\n",
             tables.family == TokenizerTables::Family::byte_level_bpe ? "byte-level BPE" : "SentencePiece",
             tables.pre_tokenizer.empty() ? "" : " ", shown(tables.pre_tokenizer), tables.pieces.size(), tables.merges.size(), tables.added.size());
  std::string eos;
  for (const int id : model.generation.eos) eos += (eos.empty() ? "" : ", ") + std::to_string(id);
  fmt::print("end of sequence: {}\nchat template: {}\n", eos.empty() ? "none" : eos,
             model.chat_template ? fmt::format("{} bytes", model.chat_template->size()) : "none");
}

void print_tensors(const std::vector<std::tuple<std::string, std::string, std::string, std::size_t>>& tensors) {
  std::map<std::string, std::pair<int, std::size_t>> formats;
  std::size_t total = 0;
  for (const auto& [name, format, shape, bytes] : tensors) {
    formats[format].first++;
    formats[format].second += bytes;
    total += bytes;
  }
  fmt::print("{} tensors, {} bytes\n", tensors.size(), total);
  for (const auto& [format, sum] : formats) fmt::print("  {:<6}{:>6} tensors{:>16} bytes\n", shown(format), sum.first, sum.second);
  for (const auto& [name, format, shape, bytes] : tensors) fmt::print("  {:<48}{:<6}{:>18}{:>14}\n", shown(name), shown(format), shape, bytes);
}

}  // namespace

void inspect(const std::string& path) {
  std::vector<std::tuple<std::string, std::string, std::string, std::size_t>> tensors;
  if (std::filesystem::is_directory(path)) {
    for (const SafetensorsEntry& entry : read_safetensors_folder(path)) {
      std::string shape;
      for (const std::uint64_t extent : entry.shape) shape += (shape.empty() ? "" : " x ") + std::to_string(extent);
      tensors.emplace_back(entry.name, entry.dtype, shape, entry.bytes.size());
    }
  } else {
    for (const Tensor& tensor : list_tensors(Gguf::open(path)))
      tensors.emplace_back(tensor.name, layout(tensor.format).name, tensor.rows == 1 ? std::to_string(tensor.cols) : fmt::format("{} x {}", tensor.rows, tensor.cols), tensor.bytes.size());
  }
  try {
    print_model(open_model(path));
  } catch (const Error& error) {
    fmt::print("no engine can be cast from it: {}\n", error.what());
  }
  print_tensors(tensors);
}

}  // namespace diecast::tool
