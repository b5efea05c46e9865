// Fuzzes an engine file: header, facts, tokenizer's tables and state, table of parts; then first and last row of every matrix, and the tensors unpacked.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <diecast/cpu/engine_file.hpp>
#include <diecast/cpu/unpack.hpp>
#include <diecast/spec/json.hpp>
#include <diecast/tokens/make_tokenizer.hpp>

#include "fuzz/outcome.hpp"

using namespace diecast;
using diecast_fuzz::accepted;
using diecast_fuzz::require;

namespace {

// A row of an accepted part lies in the file, so the room for it is bounded by the input.
void unpack_ends(const cpu::PackedMatrix& matrix) {
  if (matrix.rows == 0) return;
  std::vector<float> row(static_cast<std::size_t>(matrix.cols));
  cpu::unpack_row(matrix, 0, row.data());
  cpu::unpack_row(matrix, matrix.rows - 1, row.data());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::byte> memory(size + 64);  // a mapping is aligned
  std::byte* const at = memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64;
  if (size > 0) std::memcpy(at, data, size);
  accepted([&] {
    const cpu::EngineFile file = cpu::open_engine_file({at, size}, nullptr, "x.engine");
    const cpu::Parts& parts = file.packed->parts;
    for (const cpu::LayerParts& layer : parts.layers)
      for (const cpu::LinearPart* part : {&layer.q, &layer.k, &layer.v, &layer.output, &layer.gate, &layer.up, &layer.down}) unpack_ends(part->matrix);
    for (const cpu::PackedMatrix* matrix : {&parts.embedding, &parts.head.matrix, &parts.position}) unpack_ends(*matrix);
    const Weights weights = cpu::unpack_weights(*file.packed);
    require(weights.layers.size() == static_cast<std::size_t>(file.model.spec.layers), "the layers are as many as the spec says");
    require(!to_json(file.model.spec).empty(), "an accepted spec can be shown");
    accepted([&] {
      const auto tokenizer = make_tokenizer(file.model.tokenizer);
      for (const int id : tokenizer->encode(PromptText{"the thing <|end|> in", {}})) require(id >= 0 && id < tokenizer->size(), "ids lie in the vocabulary");
    });
  });
  return 0;
}
