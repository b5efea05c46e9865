// From the tables of a model file to a tokenizer that encodes.
#pragma once

#include <memory>

#include <diecast/error.hpp>
#include <diecast/files/model.hpp>
#include <diecast/tokens/byte_level_bpe.hpp>
#include <diecast/tokens/tokenizer.hpp>

namespace diecast {

inline std::shared_ptr<const Tokenizer> make_tokenizer(const TokenizerTables& tables) {
  if (tables.family == TokenizerTables::Family::sentencepiece) {
    throw Error("the tokenizer is SentencePiece: include <diecast/sentencepiece.hpp> and call make_any_tokenizer");
  }
  return std::make_shared<const ByteLevelBpe>(tables);
}

}  // namespace diecast
