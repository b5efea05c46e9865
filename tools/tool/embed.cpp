// `embed`: a copy of an engine that carries its model.
#include <filesystem>
#include <fstream>
#include <string>

#include "../cast/embedded.hpp"
#include "tool.hpp"

namespace diecast::tool {

void embed(const std::string& engine, const std::string& model, const std::string& output) {
  if (std::filesystem::is_directory(model)) throw Error("a folder cannot be put into a program, only a GGUF file: " + model);
  const Gguf checked = Gguf::open(model);
  const auto program = Mapping::open(engine);
  if (cast::embedded_in(program->bytes())) throw Error(engine + " carries a model already");
  const std::size_t program_size = program->bytes().size();
  const auto mapped = Mapping::open(model);
  const auto bytes = mapped->bytes();
  cast::EmbeddedFooter footer;
  footer.offset = (program_size + cast::embedded_alignment - 1) / cast::embedded_alignment * cast::embedded_alignment;
  footer.size = bytes.size();

  std::ofstream file(output, std::ios::binary | std::ios::trunc);
  const auto put = [&file](const void* data, std::size_t size) { file.write(static_cast<const char*>(data), static_cast<std::streamsize>(size)); };
  const std::string zeros(footer.offset - program_size, '\0');
  put(program->bytes().data(), program_size);
  put(zeros.data(), zeros.size());
  put(bytes.data(), bytes.size());
  put(&footer, sizeof footer);
  file.close();
  std::error_code error;
  if (!file) throw Error(output + " cannot be written");
  std::filesystem::permissions(output, std::filesystem::status(engine).permissions(), error);
  if (error) throw Error(output + " cannot be made executable");
}

}  // namespace diecast::tool
