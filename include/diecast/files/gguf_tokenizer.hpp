// The tokenizer's tables, chat template and end-of-text ids out of a GGUF file; a vocabulary-only file will do.
// Source: the "tokenizer.ggml" keys of the GGUF format text; llama.cpp's llama-vocab for what an absent key means.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <diecast/files/gguf.hpp>
#include <diecast/files/model.hpp>

namespace diecast {

namespace gguf_detail {

inline std::string vocabulary_key(std::string_view name) { return "tokenizer.ggml." + std::string(name); }

inline std::optional<int> token_id(const Gguf& file, std::string_view name, std::size_t vocabulary) {
  const auto key = vocabulary_key(name);
  const auto id = file.integer(key, 0, INT32_MAX);
  if (!id) return std::nullopt;
  if (static_cast<std::size_t>(*id) >= vocabulary) {
    file.fail("the key '" + key + "' is " + std::to_string(*id) + ", the vocabulary has " + std::to_string(vocabulary) + " ids");
  }
  return static_cast<int>(*id);
}

inline void check_length(const Gguf& file, const std::string& key, std::uint64_t found, std::size_t pieces) {
  if (found != pieces) {
    file.fail("the key '" + key + "' has " + std::to_string(found) + " elements, 'tokenizer.ggml.tokens' has " + std::to_string(pieces));
  }
}

inline std::vector<std::string> strings(const GgufValue& array) {
  std::vector<std::string> result;
  result.reserve(static_cast<std::size_t>(array.count));  // each takes at least 8 bytes of the file: checked when it was read
  array.for_each_string([&](std::size_t, std::string_view text) { result.emplace_back(text); });
  return result;
}

inline void read_kinds(const Gguf& file, TokenizerTables& tables) {
  const auto key = vocabulary_key("token_type");
  tables.kinds.assign(tables.pieces.size(), TokenKind::normal);
  const GgufValue* kinds = file.find(key);
  if (!kinds) return;
  if (kinds->type != GgufType::array || (kinds->element != GgufType::i32 && kinds->element != GgufType::u32)) file.array(key, GgufType::i32);
  check_length(file, key, kinds->count, tables.pieces.size());
  for (std::size_t id = 0; id < tables.kinds.size(); ++id) {
    const auto number = kinds->integer_element(id);
    if (!number || *number < 1 || *number > 6) {
      file.fail("the key '" + key + "' gives token " + std::to_string(id) + " the unknown kind " + std::to_string(number.value_or(-1)));
    }
    tables.kinds[id] = static_cast<TokenKind>(*number);
    const bool special = tables.kinds[id] == TokenKind::control;
    if ((special || tables.kinds[id] == TokenKind::user_defined) && !tables.pieces[id].empty()) {
      tables.added.push_back({.id = static_cast<int>(id), .content = tables.pieces[id], .special = special});
    }
  }
}

// The rule of Llama 3 and of Mistral's Tekken, which GGUF states only through the pre-tokenizer's name: whole pieces win over merges, and the text begins with BOS.
inline bool is_llama3(std::string_view pre_tokenizer) {
  constexpr std::array<std::string_view, 4> names{"llama-bpe", "llama3", "llama-v3", "tekken"};
  return std::ranges::find(names, pre_tokenizer) != names.end();
}

}  // namespace gguf_detail

inline TokenizerTables read_gguf_tokenizer(const Gguf& file) {
  using namespace gguf_detail;
  TokenizerTables tables;
  const auto model = file.text(vocabulary_key("model"));
  if (!model) file.fail("the key 'tokenizer.ggml.model' is missing: the file has no tokenizer");
  const GgufValue* tokens = file.array(vocabulary_key("tokens"), GgufType::string);
  if (*model != "gpt2" && *model != "llama") file.fail("unsupported tokenizer " + in_marks(*model) + "; 'gpt2' (byte-level BPE) and 'llama' (SentencePiece) are read");
  if (!tokens || tokens->count == 0) file.fail("the key 'tokenizer.ggml.tokens' is missing or empty");
  if (tokens->count > static_cast<std::uint64_t>(INT32_MAX)) file.fail("the vocabulary has " + std::to_string(tokens->count) + " pieces");
  tables.pieces = strings(*tokens);
  const std::size_t vocabulary = tables.pieces.size();
  read_kinds(file, tables);

  if (*model == "gpt2") {
    tables.family = TokenizerTables::Family::byte_level_bpe;
    tables.pre_tokenizer = file.text(vocabulary_key("pre")).value_or("default");
    const GgufValue* merges = file.array(vocabulary_key("merges"), GgufType::string);
    if (!merges) file.fail("the key 'tokenizer.ggml.merges' is missing; byte-level BPE cannot work without it");
    tables.merges = strings(*merges);
    tables.ignore_merges = is_llama3(tables.pre_tokenizer);
  } else {
    tables.family = TokenizerTables::Family::sentencepiece;
    const auto key = vocabulary_key("scores");
    const GgufValue* scores = file.array(key, GgufType::f32);
    if (!scores) file.fail("the key '" + key + "' is missing; SentencePiece cannot work without it");
    check_length(file, key, scores->count, vocabulary);
    tables.scores.resize(vocabulary);
    std::memcpy(tables.scores.data(), scores->bytes.data(), vocabulary * sizeof(float));
  }

  tables.bos = token_id(file, "bos_token_id", vocabulary);
  tables.eos = token_id(file, "eos_token_id", vocabulary);
  tables.unknown = token_id(file, "unknown_token_id", vocabulary);
  tables.pad = token_id(file, "padding_token_id", vocabulary);
  tables.add_bos = file.flag(vocabulary_key("add_bos_token"));
  tables.add_eos = file.flag(vocabulary_key("add_eos_token"));
  tables.add_space_prefix = file.flag(vocabulary_key("add_space_prefix"));
  if (!tables.add_bos && *model == "gpt2" && is_llama3(tables.pre_tokenizer)) tables.add_bos = true;
  return tables;
}
inline TokenizerTables read_gguf_tokenizer(const std::string& path) { return read_gguf_tokenizer(Gguf::open(path)); }

inline std::optional<std::string> read_gguf_chat_template(const Gguf& file) {
  const auto text = file.text("tokenizer.chat_template");
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

// Every id that ends an answer, ascending: the union over all keys that name one.
inline std::vector<int> read_gguf_eos(const Gguf& file, std::size_t vocabulary) {
  std::vector<int> ids;
  for (const auto* name : {"eos_token_id", "eot_token_id", "eom_token_id"}) {
    if (const auto id = gguf_detail::token_id(file, name, vocabulary)) ids.push_back(*id);
  }
  const auto key = gguf_detail::vocabulary_key("eos_token_ids");
  if (const GgufValue* list = file.find(key)) {
    if (list->type != GgufType::array) file.array(key, GgufType::i32);
    for (std::uint64_t i = 0; i < list->count; ++i) {
      if (list->element == GgufType::string || list->element == GgufType::array) file.array(key, GgufType::i32);
      const auto id = list->integer_element(i);
      if (!id || *id < 0 || static_cast<std::uint64_t>(*id) >= vocabulary) {
        file.fail("the key '" + key + "' holds " + (id ? std::to_string(*id) : "no whole number") + ", the vocabulary has " + std::to_string(vocabulary) + " ids");
      }
      ids.push_back(static_cast<int>(*id));
    }
  }
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace diecast
