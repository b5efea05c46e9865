// SentencePiece through its library, from a tokenizer.model or from the vocabulary of a GGUF file. Control markers are found here,
// where nobody typed; the text between them goes to the library, whose control pieces text can never become.
#pragma once

#include <sentencepiece_processor.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <diecast/error.hpp>
#include <diecast/files/model.hpp>
#include <diecast/text.hpp>
#include <diecast/tokens/added_tokens.hpp>
#include <diecast/tokens/make_tokenizer.hpp>
#include <diecast/tokens/sentencepiece_proto.hpp>
#include <diecast/tokens/tokenizer.hpp>
#include <diecast/tokens/utf8.hpp>
#include <diecast/tokens/vocabulary.hpp>

namespace diecast {

class SentencePieceTokenizer final : public Tokenizer {
 public:
  explicit SentencePieceTokenizer(const TokenizerTables& tables)
      : space_prefix_(load(tables)), legacy_(tables.legacy.value_or(true)), vocabulary_(complete(tables)), added_(matched_here(tables)) {
    bytes_.resize(static_cast<std::size_t>(size()));
    for (int id = 0; id < size(); ++id) bytes_[static_cast<std::size_t>(id)] = written(id);
    bos = tables.bos ? tables.bos : defined(processor_.bos_id());
    eos = tables.eos ? tables.eos : defined(processor_.eos_id());
    add_bos = tables.add_bos.value_or(true);
    add_eos = tables.add_eos.value_or(false);
  }
  SentencePieceTokenizer(const SentencePieceTokenizer&) = delete;
  SentencePieceTokenizer& operator=(const SentencePieceTokenizer&) = delete;

  using Tokenizer::encode;
  std::vector<int> encode(const PromptText& prompt) const override {
    std::vector<Segment> segments;
    added_.split(prompt, {0, prompt.text.size()}, segments);
    std::vector<int> ids;
    std::vector<int> part;
    for (const Segment& segment : segments) {
      if (segment.id >= 0) {
        ids.push_back(segment.id);
        continue;
      }
      const std::string_view slice = std::string_view(prompt.text).substr(segment.range.begin, segment.range.end - segment.range.begin);
      std::string text = replace_invalid_utf8(slice);
      if (space_prefix_ && !legacy_ && segment.range.begin == 0) text.insert(0, space_symbol);
      check(processor_.Encode(text, &part));
      ids.insert(ids.end(), part.begin(), part.end());
    }
    return ids;
  }

  int size() const override { return vocabulary_.size(); }
  std::string_view bytes(int id) const override { return bytes_[vocabulary_.index(id)]; }
  std::string_view piece(int id) const override { return vocabulary_.piece(id); }
  bool is_control(int id) const override { return vocabulary_.is_control(id); }
  bool strips_first_space() const override { return space_prefix_; }

 private:
  static constexpr const char* space_symbol = "\u2581";
  static constexpr const char* unknown_surface = " \u2047 ";  // what the library's decoder writes for the unknown piece

  static void check(const sentencepiece::util::Status& status) {
    if (!status.ok()) throw Error("SentencePiece: " + status.ToString());
  }
  static std::optional<int> defined(int id) { return id < 0 ? std::nullopt : std::optional<int>(id); }

  // Loads the model and says whether it puts a space before a text. The library adds the prefix itself where every segment has one.
  bool load(const TokenizerTables& tables) {
    const bool own = tables.sentencepiece_model.empty();
    if (own) check_tables(tables);
    const std::string model = own ? sentencepiece_proto::model(tables)
                                  : sentencepiece_proto::with_control_pieces(tables.sentencepiece_model, sentencepiece_proto::special_ids(tables));
    try {
      bool prefix = tables.add_space_prefix.value_or(true);
      if (!own && !tables.add_space_prefix) {  // the model knows; what it does shows it
        check(processor_.LoadFromSerializedProto(model));
        std::vector<std::string> pieces;
        check(processor_.Encode("a", &pieces));
        prefix = !pieces.empty() && pieces.front().starts_with(space_symbol);
        if (!pieces.empty() && pieces.back().ends_with(space_symbol)) throw Error("SentencePiece with white space as a suffix is not supported");
        if (prefix == tables.legacy.value_or(true)) return prefix;  // as loaded
      }
      check(processor_.LoadFromSerializedProto(model + sentencepiece_proto::space_prefix(prefix && tables.legacy.value_or(true))));
      return prefix;
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      throw Error(std::string("the SentencePiece library refuses the vocabulary: ") + error.what());
    }
  }

  static void check_tables(const TokenizerTables& tables) {
    const std::size_t count = tables.pieces.size();
    if (tables.scores.size() != count) {
      throw Error("the tokenizer has " + std::to_string(count) + " pieces, but " + std::to_string(tables.scores.size()) + " scores");
    }
    if (!tables.kinds.empty() && tables.kinds.size() != count) {
      throw Error("the tokenizer has " + std::to_string(count) + " pieces, but " + std::to_string(tables.kinds.size()) + " token types");
    }
    for (std::size_t id = 0; id < count; ++id) {
      if (std::isnan(tables.scores[id])) throw Error("the score of token " + std::to_string(id) + " is not a number");
      // The library's matcher takes user-defined pieces as C strings.
      if (tables.pieces[id].find('\0') != std::string::npos) throw Error("token " + std::to_string(id) + " contains a zero byte");
    }
  }

  // The tables with everything that the library knows and the file's reader does not.
  TokenizerTables complete(const TokenizerTables& tables) {
    TokenizerTables all;
    all.added = tables.added;
    all.pieces = tables.pieces;
    all.kinds = tables.kinds;
    all.kinds.resize(all.pieces.size(), TokenKind::normal);
    const auto known = static_cast<std::size_t>(processor_.GetPieceSize());
    if (!tables.sentencepiece_model.empty()) {
      std::size_t count = (std::max)(known, all.pieces.size());
      for (const AddedToken& token : tables.added) {  // a file may put a few tokens behind the model's
        if (token.id >= 0 && static_cast<std::size_t>(token.id) < count + tables.added.size()) count = (std::max)(count, static_cast<std::size_t>(token.id) + 1);
      }
      all.pieces.resize(count);
      all.kinds.resize(count, TokenKind::normal);
      for (std::size_t i = 0; i < known; ++i) {
        const int id = static_cast<int>(i);
        all.pieces[i] = processor_.IdToPiece(id);
        all.kinds[i] = processor_.IsControl(id)   ? TokenKind::control
                       : processor_.IsUnknown(id) ? TokenKind::unknown
                       : processor_.IsByte(id)    ? TokenKind::byte
                       : processor_.IsUnused(id)  ? TokenKind::unused
                                                  : TokenKind::normal;
      }
      for (const AddedToken& token : tables.added) {
        if (token.id >= 0 && static_cast<std::size_t>(token.id) >= known && static_cast<std::size_t>(token.id) < count) {
          all.pieces[static_cast<std::size_t>(token.id)] = token.content;
        }
      }
    }
    // Text may become the unknown piece or a byte, so these are no control tokens, though files list <unk> among the markers.
    const auto unknown = static_cast<std::size_t>(processor_.unk_id());
    all.kinds.at(unknown) = TokenKind::unknown;
    for (AddedToken& token : all.added) {
      if (token.id < 0 || static_cast<std::size_t>(token.id) >= all.pieces.size()) continue;  // refused by the vocabulary
      if (static_cast<std::size_t>(token.id) == unknown) token.special = false;
      if (token.special && all.kinds[static_cast<std::size_t>(token.id)] == TokenKind::byte) {
        throw Error("the added token " + in_quotes(token.content) + " is special, but its id " + std::to_string(token.id) + " is that of a byte");
      }
    }
    kinds_ = all.kinds;
    all.bos = tables.bos;
    all.eos = tables.eos;
    all.unknown = tables.unknown;
    all.pad = tables.pad;
    return all;
  }

  // The library finds the user-defined pieces of a vocabulary that it was given here; of a tokenizer.model's we do not know which are.
  std::vector<AddedToken> matched_here(const TokenizerTables& tables) const {
    std::vector<AddedToken> chosen;
    for (AddedToken token : tables.added) {
      token.special = token.special || vocabulary_.is_control(token.id);
      if (token.special || !tables.sentencepiece_model.empty()) chosen.push_back(token);
    }
    return chosen;
  }

  std::string written(int id) const {
    const std::string_view piece = vocabulary_.piece(id);
    if (vocabulary_.is_control(id)) return {};
    const TokenKind kind = kinds_[static_cast<std::size_t>(id)];
    if (kind == TokenKind::unknown) return unknown_surface;
    if (kind == TokenKind::byte) {  // <0x41>
      const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; };
      const int high = piece.size() == 6 ? digit(piece[3]) : -1;
      const int low = piece.size() == 6 ? digit(piece[4]) : -1;
      if (high < 0 || low < 0) throw Error("the byte piece " + in_quotes(piece) + " is not spelled like <0x41>");
      return std::string(1, static_cast<char>(static_cast<unsigned char>(high * 16 + low)));
    }
    std::string text;
    const std::string_view symbol = space_symbol;
    for (std::size_t at = 0; at < piece.size();) {
      const bool space = piece.substr(at, symbol.size()) == symbol;
      text.push_back(space ? ' ' : piece[at]);
      at += space ? symbol.size() : 1;
    }
    return text;
  }

  sentencepiece::SentencePieceProcessor processor_;
  bool space_prefix_;
  bool legacy_;
  std::vector<TokenKind> kinds_;
  Vocabulary vocabulary_;
  AddedTokens added_;
  std::vector<std::string> bytes_;  // by id
};

// The tokenizer of any model file that is supported, SentencePiece or not.
inline std::shared_ptr<const Tokenizer> make_any_tokenizer(const TokenizerTables& tables) {
  if (tables.family == TokenizerTables::Family::sentencepiece) return std::make_shared<const SentencePieceTokenizer>(tables);
  return make_tokenizer(tables);
}

}  // namespace diecast
