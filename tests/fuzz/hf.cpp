// Fuzzes the JSON files of a model folder: config.json, tokenizer.json, tokenizer_config.json, special_tokens_map.json and
// generation_config.json, one after the other between lines of three dashes. What makes a tokenizer is used once.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <diecast/files/hf_config.hpp>
#include <diecast/files/hf_folder.hpp>
#include <diecast/files/hf_generation.hpp>
#include <diecast/files/hf_json.hpp>
#include <diecast/files/hf_tokenizer.hpp>
#include <diecast/files/hf_weights.hpp>
#include <diecast/spec/json.hpp>
#include <diecast/tokens/make_tokenizer.hpp>

#include "fuzz/outcome.hpp"

using namespace diecast;
using diecast_fuzz::accepted;
using diecast_fuzz::require;

namespace {

// null where the part is empty, as for a file that a folder lacks; nothing where it is broken.
std::optional<Json> json_of(std::string_view text, const std::string& name) {
  if (text.empty()) return Json();
  Json json;
  if (!accepted([&] { json = parse_json(text, name); })) return std::nullopt;
  return json;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parts = diecast_fuzz::parts_of(data, size, 5);
  const auto config = json_of(parts[0], "folder/config.json");
  const auto tokenizer_json = json_of(parts[1], "folder/tokenizer.json");
  const auto tokenizer_config = json_of(parts[2], "folder/tokenizer_config.json");
  const auto special_tokens = json_of(parts[3], "folder/special_tokens_map.json");
  const auto generation = json_of(parts[4], "folder/generation_config.json");

  Spec spec;
  if (config && accepted([&] { spec = hf_spec(*config, "folder/config.json"); })) {
    require(!to_json(spec).empty(), "an accepted spec can be shown");
    // Without a tensor: sizes are computed, and the first one that is missing is named.
    accepted([&] { hf_weights({}, spec, hf_model_type(*config, "folder/config.json"), "folder"); });
    if (generation) {
      accepted([&] { hf_generation(*generation, "folder/generation_config.json", {Fields(*config, "folder/config.json")}, 0, spec.vocab); });
    }
  }
  if (tokenizer_config) accepted([&] { hf_detail::template_of_config(*tokenizer_config, "folder/tokenizer_config.json"); });
  if (!tokenizer_json || !tokenizer_config || !special_tokens) return 0;
  accepted([&] {
    const TokenizerTables tables = hf_tokenizer(
        {.tokenizer = *tokenizer_json, .config = *tokenizer_config, .special_tokens = *special_tokens, .sentencepiece = std::nullopt}, "folder");
    const auto tokenizer = make_tokenizer(tables);
    const PromptText prompt{"<s> The q\xcc\x88uick\n 12 \xff</s>", {{4, 10}}};
    for (const int id : tokenizer->encode(prompt)) {
      require(id >= 0 && id < tokenizer->size(), "an id lies in the vocabulary");
      tokenizer->bytes(id);
    }
  });
  return 0;
}
