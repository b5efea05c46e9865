// `embed`: a copy of an engine that carries its engine file.
#include <filesystem>
#include <fstream>
#include <string>

#include <diecast/cpu/engine_file.hpp>

#include "../cast/embedded.hpp"
#include "tool.hpp"

namespace diecast::tool {

void embed(const std::string& engine, const std::string& model, const std::string& output) {
  cpu::open_engine_file(model);  // refuses what no engine could read
  const auto program = Mapping::open(engine), packed = Mapping::open(model);
  if (cast::embedded_in(program->bytes())) throw Error(engine + " carries a model already");
  cast::EmbeddedFooter footer;
  footer.size = packed->bytes().size();
  footer.offset = (program->bytes().size() + cast::embedded_alignment - 1) / cast::embedded_alignment * cast::embedded_alignment;

  std::ofstream file(output, std::ios::binary | std::ios::trunc);
  const auto put = [&](const void* data, std::size_t size) { file.write(static_cast<const char*>(data), static_cast<std::streamsize>(size)); };
  put(program->bytes().data(), program->bytes().size());
  const std::string zeros(footer.offset - program->bytes().size(), '\0');
  put(zeros.data(), zeros.size());
  put(packed->bytes().data(), packed->bytes().size());
  put(&footer, sizeof footer);
  file.close();
  if (!file) throw Error(output + " cannot be written");
  std::error_code error;
  std::filesystem::permissions(output, std::filesystem::status(engine).permissions(), error);
  if (error) throw Error(output + " cannot be made executable");
}

}  // namespace diecast::tool
