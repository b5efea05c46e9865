// Small vocabularies for tests: the 256 bytes first, each id its byte, then what a test adds.
#pragma once

#include <string>
#include <vector>

#include <diecast/files/model.hpp>
#include <diecast/tokens/byte_alphabet.hpp>
#include <diecast/tokens/utf8.hpp>

namespace tokens_test {

inline std::string stand_in(int byte) {
  for (std::size_t point = 0; point < diecast::byte_of_stand_in.size(); ++point) {
    if (diecast::byte_of_stand_in[point] == byte) {
      std::string text;
      diecast::append_utf8(text, static_cast<char32_t>(point));
      return text;
    }
  }
  return {};
}

inline diecast::TokenizerTables byte_tables(const std::string& pre_tokenizer = "gpt-2") {
  diecast::TokenizerTables tables;
  tables.pre_tokenizer = pre_tokenizer;
  for (int byte = 0; byte < 256; ++byte) tables.pieces.push_back(stand_in(byte));
  tables.kinds.assign(256, diecast::TokenKind::normal);
  return tables;
}

inline int add_piece(diecast::TokenizerTables& tables, const std::string& piece, diecast::TokenKind kind = diecast::TokenKind::normal) {
  const int id = static_cast<int>(tables.pieces.size());
  tables.pieces.push_back(piece);
  tables.kinds.push_back(kind);
  const bool control = kind == diecast::TokenKind::control;
  if (control || kind == diecast::TokenKind::user_defined) tables.added.push_back({id, piece, control, false, false, false, false});
  return id;
}

inline std::vector<int> bytes_of(const std::string& text) {
  std::vector<int> ids;
  for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
  return ids;
}

}  // namespace tokens_test
