// A model inside the program that runs it: the program, zeros up to a page, the bytes of an engine file, and a footer that says where they lie. They
// are mapped from the program's own file, so nothing is copied and no assembler or linker is needed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include <diecast/cpu/engine_file.hpp>
#include <diecast/error.hpp>
#include <diecast/files/mapping.hpp>

namespace diecast::cast {

struct EmbeddedFooter {
  std::array<char, 16> mark{'D', 'i', 'e', 'c', 'a', 's', 't', ' ', 'e', 'm', 'b', 'e', 'd', 's', ' ', '1'};
  std::uint64_t offset{};  // of the model, from the file's begin; a multiple of embedded_alignment
  std::uint64_t size{};
};
static_assert(sizeof(EmbeddedFooter) == 32);

constexpr std::uint64_t embedded_alignment = 4096;

// The bytes of the model at the end of a program's, if there is one.
inline std::optional<std::span<const std::byte>> embedded_in(std::span<const std::byte> program) {
  EmbeddedFooter footer;
  const auto mark = footer.mark;
  if (program.size() < sizeof footer) return std::nullopt;
  const std::size_t end = program.size() - sizeof footer;
  std::memcpy(&footer, program.data() + end, sizeof footer);
  if (footer.mark != mark) return std::nullopt;
  if (footer.size > end || footer.offset != end - footer.size || footer.offset % embedded_alignment != 0)
    throw Error("the model inside this program is damaged: it would have " + std::to_string(footer.size) + " bytes at " + std::to_string(footer.offset) +
                ", the program has " + std::to_string(program.size()));
  return program.subspan(footer.offset, footer.size);
}

// The model inside the program that runs, if there is one.
inline std::optional<cpu::EngineFile> embedded_model(const AcceptModel& accept) {
  const auto program = Mapping::open("/proc/self/exe");
  const auto bytes = embedded_in(program->bytes());
  if (!bytes) return std::nullopt;
  return cpu::open_engine_file(*bytes, program, "the model inside this program", accept, cpu::Place::mapping);
}

}  // namespace diecast::cast
