// From the tables of a model file to a tokenizer that encodes.
#pragma once

#include <memory>

#include <diecast/error.hpp>
#include <diecast/files/model.hpp>
#include <diecast/tokens/byte_level_bpe.hpp>
#include <diecast/tokens/tokenizer.hpp>

namespace diecast {

namespace detail {
template <class = void>  // for <diecast/compiled.hpp>, as in chat/chat_template.hpp
std::shared_ptr<const Tokenizer> make_byte_level_bpe(const TokenizerTables& tables) {
  return std::make_shared<const ByteLevelBpe>(tables);
}
}  // namespace detail

inline std::shared_ptr<const Tokenizer> make_tokenizer(const TokenizerTables& tables) {
  if (tables.family == TokenizerTables::Family::sentencepiece) {
    throw Error("the tokenizer is SentencePiece: include <diecast/sentencepiece.hpp> and call make_any_tokenizer");
  }
  return detail::make_byte_level_bpe(tables);
}

}  // namespace diecast
