// From the tables of a model file to a tokenizer that encodes.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <diecast/error.hpp>
#include <diecast/files/model.hpp>
#include <diecast/tokens/byte_level_bpe.hpp>
#include <diecast/tokens/tokenizer.hpp>

namespace diecast {

namespace detail {
template <class = void>  // for <diecast/compiled.hpp>, as in chat/chat_template.hpp
std::shared_ptr<const Tokenizer> make_byte_level_bpe(const TokenizerTables& tables) {
  if (tables.prepared) return std::make_shared<const ByteLevelBpe>(tables, *tables.prepared);
  return std::make_shared<const ByteLevelBpe>(tables);
}

template <class = void>
std::string prepared_state(const TokenizerTables& tables) {
  return ByteLevelBpe(tables).prepared();
}
}  // namespace detail

inline std::shared_ptr<const Tokenizer> make_tokenizer(const TokenizerTables& tables) {
  if (tables.family == TokenizerTables::Family::sentencepiece) {
    throw Error("the tokenizer is SentencePiece: include <diecast/sentencepiece.hpp> and call make_any_tokenizer");
  }
  return detail::make_byte_level_bpe(tables);
}

// The same tables with what a byte-level BPE computes from them, so that an engine file can hold it.
inline TokenizerTables prepared(const TokenizerTables& tables) {
  if (tables.family != TokenizerTables::Family::byte_level_bpe || tables.prepared) return tables;
  const auto state = std::make_shared<const std::string>(detail::prepared_state(tables));
  TokenizerTables made = tables;
  made.prepared = {std::as_bytes(std::span(*state)), {}, state};
  return made;
}

}  // namespace diecast
