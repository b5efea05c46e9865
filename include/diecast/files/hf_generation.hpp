// generation_config.json, and the set of ids that end an answer: the union of all sources, each an id or a list of ids,
// because files that were edited later often know one that the others lack.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <diecast/error.hpp>
#include <diecast/files/hf_json.hpp>
#include <diecast/files/model.hpp>

namespace diecast {

// "eos_token_id" of one file into `ids`; an id must lie in the vocabulary.
inline void hf_eos_ids(const Fields& file, int vocab, std::vector<int>& ids) {
  const Json* value = file.find("eos_token_id");
  if (!value) return;
  const auto add = [&](const Json& id) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= static_cast<std::uint64_t>(vocab))
      throw Error(file.where() + ": eos_token_id has " + shown(id) + ", and must have whole numbers from 0 to " +
                  std::to_string(vocab - 1));
    ids.push_back(id.get<int>());
  };
  if (value->is_array())
    for (const Json& id : *value) add(id);
  else
    add(*value);
}

// `generation` may be null: no such file. `tokenizer_eos`: eos_token of tokenizer_config.json.
inline GenerationDefaults hf_generation(const Json& generation, const std::string& where, const std::vector<Fields>& configs,
                                        std::optional<int> tokenizer_eos, int vocab) {
  GenerationDefaults defaults;
  for (const Fields& config : configs) hf_eos_ids(config, vocab, defaults.eos);
  if (tokenizer_eos) defaults.eos.push_back(*tokenizer_eos);
  if (!generation.is_null()) {
    const Fields file(generation, where);
    defaults.do_sample = file.flag("do_sample");
    defaults.temperature = file.number("temperature");
    defaults.top_p = file.number("top_p");
    defaults.min_p = file.number("min_p");
    defaults.repetition_penalty = file.number("repetition_penalty");
    defaults.top_k = file.integer("top_k", 0);
    defaults.max_new_tokens = file.integer("max_new_tokens", 1);
    hf_eos_ids(file, vocab, defaults.eos);
  }
  std::sort(defaults.eos.begin(), defaults.eos.end());
  defaults.eos.erase(std::unique(defaults.eos.begin(), defaults.eos.end()), defaults.eos.end());
  return defaults;
}

}  // namespace diecast
