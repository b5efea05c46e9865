// Byte-level byte-pair encoding (GPT-2): added tokens first, then pieces that no token crosses, then merges inside each piece.
// Bytes that are no UTF-8 pass through. What was typed never becomes a control token: no marker is looked for there, and a merge
// whose result is a control token is left out.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <diecast/error.hpp>
#include <diecast/files/model.hpp>
#include <diecast/tokens/added_tokens.hpp>
#include <diecast/tokens/byte_alphabet.hpp>
#include <diecast/tokens/merges.hpp>
#include <diecast/tokens/normalize.hpp>
#include <diecast/tokens/pre_tokenizer.hpp>
#include <diecast/tokens/tokenizer.hpp>
#include <diecast/tokens/vocabulary.hpp>

namespace diecast {

class ByteLevelBpe final : public Tokenizer {
 public:
  explicit ByteLevelBpe(const TokenizerTables& tables)
      : vocabulary_(tables),
        form_(normal_form(tables.normalizer)),
        pre_tokenizer_(find_pre_tokenizer(tables.pre_tokenizer)),
        ignore_merges_(tables.ignore_merges),
        first_(tokens_where(tables.added, false)),
        second_(tokens_where(tables.added, true)),
        merges_(tables.merges.size()) {
    read_pieces(tables);
    read_merges(tables.merges);
    bos = tables.bos;
    eos = tables.eos;
    add_bos = tables.add_bos.value_or(false);
    add_eos = tables.add_eos.value_or(false);
  }

  ByteLevelBpe(const ByteLevelBpe&) = delete;  // ids_ looks into bytes_
  ByteLevelBpe& operator=(const ByteLevelBpe&) = delete;

  using Tokenizer::encode;
  std::vector<int> encode(const PromptText& prompt) const override {
    if (prompt.text.size() > static_cast<std::size_t>((std::numeric_limits<std::int32_t>::max)())) throw Error("a prompt of more than 2 GiB");
    std::vector<int> ids;
    WordMerger merger(merges_);
    std::vector<std::int32_t> word;
    std::vector<Segment> segments;
    first_.split(prompt, {0, prompt.text.size()}, segments);
    for (const Segment& segment : segments) {
      if (segment.id >= 0) ids.push_back(segment.id);
      else if (!form_) encode_part(prompt, segment.range, merger, word, ids);
      else {
        const PromptText text = normalize(prompt, segment.range, *form_);
        encode_part(text, {0, text.text.size()}, merger, word, ids);
      }
    }
    return ids;
  }

  int size() const override { return vocabulary_.size(); }
  std::string_view bytes(int id) const override { return bytes_[vocabulary_.index(id)]; }
  std::string_view piece(int id) const override { return vocabulary_.piece(id); }
  bool is_control(int id) const override { return vocabulary_.is_control(id); }
  bool strips_first_space() const override { return false; }

 private:
  std::vector<AddedToken> tokens_where(const std::vector<AddedToken>& added, bool normalized) const {
    std::vector<AddedToken> chosen;
    for (AddedToken token : added) {
      token.special = is_control(token.id);
      if (token.normalized == normalized) chosen.push_back(token);
    }
    return chosen;
  }

  static std::optional<NormalForm> normal_form(const std::string& name) {
    if (name.empty()) return std::nullopt;
    if (name == "NFC") return NormalForm::nfc;
    if (name == "NFKC") return NormalForm::nfkc;
    throw Error("the normalizer \"" + name + "\" is not known; known are NFC and NFKC");
  }

  // Text in which the first pass found no added token; the second looks for those that are matched after normalisation.
  void encode_part(const PromptText& prompt, Range part, WordMerger& merger, std::vector<std::int32_t>& word, std::vector<int>& ids) const {
    std::vector<Segment> segments;
    second_.split(prompt, part, segments);
    for (const Segment& segment : segments) {
      if (segment.id >= 0) {
        ids.push_back(segment.id);
        continue;
      }
      const std::string_view text = std::string_view(prompt.text).substr(segment.range.begin, segment.range.end - segment.range.begin);
      pre_tokenizer_.split(text, [&](std::string_view piece) {
        if (ignore_merges_) {
          if (const auto whole = ids_.find(piece); whole != ids_.end()) return ids.push_back(whole->second);
        }
        word.clear();
        for (const char byte : piece) {
          const std::int32_t id = byte_ids_[static_cast<unsigned char>(byte)];
          if (id >= 0) word.push_back(id);  // a byte that the vocabulary cannot spell is left out, as the tokenizers package does
        }
        merger.merge(word, ids);
      });
    }
  }

  void read_pieces(const TokenizerTables& tables) {
    std::vector<bool> added(tables.pieces.size());
    for (const AddedToken& token : tables.added) added[static_cast<std::size_t>(token.id)] = true;
    bytes_.resize(tables.pieces.size());
    for (std::size_t id = 0; id < bytes_.size(); ++id) {
      if (vocabulary_.is_control(static_cast<int>(id))) continue;
      auto spelled = added[id] ? std::nullopt : bytes_of_piece(tables.pieces[id]);
      bytes_[id] = spelled ? std::move(*spelled) : tables.pieces[id];
    }
    for (const AddedToken& token : tables.added) {
      if (!is_control(token.id)) bytes_[static_cast<std::size_t>(token.id)] = token.content;
    }
    ids_.reserve(bytes_.size());
    byte_ids_.fill(-1);
    for (const bool second_turn : {false, true}) {  // an added token is part of a merge only where no ordinary piece is spelled the same
      for (std::size_t id = 0; id < bytes_.size(); ++id) {
        if (added[id] != second_turn || bytes_[id].empty()) continue;
        const auto [known, fresh] = ids_.emplace(bytes_[id], static_cast<int>(id));
        if (!fresh && !second_turn) {
          throw Error("the piece \"" + tables.pieces[id] + "\" has two ids: " + std::to_string(known->second) + " and " + std::to_string(id));
        }
        if (fresh && bytes_[id].size() == 1) byte_ids_[static_cast<unsigned char>(bytes_[id][0])] = static_cast<std::int32_t>(id);
      }
    }
    // Real vocabularies lack control characters and bytes that no UTF-8 has; one without plain letters is not byte-level.
    std::string missing;
    for (int byte = 0x20; byte < 0x7F; ++byte) {
      if (byte_ids_[static_cast<std::size_t>(byte)] < 0) missing += (missing.empty() ? "'" : ", '") + std::string(1, static_cast<char>(byte)) + "'";
    }
    if (!missing.empty()) throw Error("the vocabulary of a byte-level BPE has no pieces for the bytes " + missing);
  }

  void read_merges(const std::vector<std::string>& merges) {
    std::unordered_set<std::string_view> control;
    for (int id = 0; id < size(); ++id) {
      if (is_control(id)) control.insert(piece(id));
    }
    for (std::size_t rank = 0; rank < merges.size(); ++rank) {
      const std::string_view merge = merges[rank];
      const std::size_t gap = merge.find(' ');
      const auto refuse = [&](const std::string& why) { throw Error("merge " + std::to_string(rank) + " (\"" + merges[rank] + "\") " + why); };
      if (gap == std::string_view::npos || gap == 0 || gap + 1 == merge.size()) refuse("is not two pieces with a space between");
      const auto left = bytes_of_piece(merge.substr(0, gap));
      const auto right = bytes_of_piece(merge.substr(gap + 1));
      if (!left || !right) refuse("has a character outside the byte alphabet");
      const auto id = [&](const std::string& bytes) -> std::int32_t {
        const auto known = ids_.find(bytes);
        return known == ids_.end() ? -1 : known->second;
      };
      const Merge entry{id(*left), id(*right), id(*left + *right), static_cast<std::int32_t>(rank)};
      if (entry.left >= 0 && entry.right >= 0 && entry.result >= 0) {
        merges_.insert(entry);
        continue;
      }
      const auto is_marker = [&](std::string_view piece) { return control.contains(piece); };
      const std::string whole = std::string(merge.substr(0, gap)) + std::string(merge.substr(gap + 1));
      if (entry.left < 0 && !is_marker(merge.substr(0, gap))) refuse("joins \"" + std::string(merge.substr(0, gap)) + "\", which is no piece");
      if (entry.right < 0 && !is_marker(merge.substr(gap + 1))) refuse("joins \"" + std::string(merge.substr(gap + 1)) + "\", which is no piece");
      if (entry.result < 0 && !is_marker(whole)) refuse("makes \"" + whole + "\", which is no piece");
    }
  }

  Vocabulary vocabulary_;
  std::optional<NormalForm> form_;
  PreTokenizer pre_tokenizer_;
  bool ignore_merges_;
  AddedTokens first_, second_;
  std::vector<std::string> bytes_;                      // by id
  std::unordered_map<std::string_view, int> ids_;       // by bytes_, without control tokens
  std::array<std::int32_t, 256> byte_ids_{};
  MergeTable merges_;
};

}  // namespace diecast
