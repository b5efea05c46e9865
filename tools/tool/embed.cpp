// `embed`: a copy of an engine that carries its model.
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "../cast/embedded.hpp"
#include "tool.hpp"

namespace diecast::tool {

namespace {

class Writer {
 public:
  explicit Writer(const std::string& path) : file_(path, std::ios::binary | std::ios::trunc) {}
  void put(const void* data, std::size_t size) {
    file_.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
    size_ += size;
  }
  void zeros_to(std::uint64_t offset) {
    const std::string zeros(static_cast<std::size_t>(offset - size_), '\0');
    put(zeros.data(), zeros.size());
  }
  bool close() {
    file_.close();
    return static_cast<bool>(file_);
  }

 private:
  std::ofstream file_;
  std::uint64_t size_ = 0;
};

// The bytes of a model, as one file (at 0) or as a packed folder.
cast::Packing packing_of(const std::string& model) {
  if (std::filesystem::is_directory(model)) {
    read_folder(model);  // refuses what no engine could read
    const Folder folder(model);
    return cast::pack(folder, files_of_folder(folder));
  }
  const Gguf checked = Gguf::open(model);
  auto file = Mapping::open(model);
  const auto bytes = file->bytes();
  return {.head = {}, .files = {{0, {bytes, std::move(file)}}}, .size = bytes.size()};
}

}  // namespace

void embed(const std::string& engine, const std::string& model, const std::string& output) {
  const cast::Packing packing = packing_of(model);
  const auto program = Mapping::open(engine);
  if (cast::embedded_in(program->bytes())) throw Error(engine + " carries a model already");
  cast::EmbeddedFooter footer;
  footer.offset = cast::aligned(program->bytes().size(), cast::embedded_alignment);
  footer.size = packing.size;

  Writer file(output);
  file.put(program->bytes().data(), program->bytes().size());
  file.zeros_to(footer.offset);
  file.put(packing.head.data(), packing.head.size());
  for (const auto& [begin, part] : packing.files) {
    file.zeros_to(footer.offset + begin);
    file.put(part.bytes.data(), part.bytes.size());
  }
  file.put(&footer, sizeof footer);
  if (!file.close()) throw Error(output + " cannot be written");
  std::error_code error;
  std::filesystem::permissions(output, std::filesystem::status(engine).permissions(), error);
  if (error) throw Error(output + " cannot be made executable");
}

}  // namespace diecast::tool
