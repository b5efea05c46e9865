// Byte-level byte-pair encoding (GPT-2): added tokens first, then pieces that no token crosses, then merges inside each piece.
// Bytes that are no UTF-8 pass through. What was typed never becomes a control token: no marker is looked for there, and a merge
// whose result is a control token is left out.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <diecast/error.hpp>
#include <diecast/files/arrays.hpp>
#include <diecast/files/model.hpp>
#include <diecast/text.hpp>
#include <diecast/tokens/added_tokens.hpp>
#include <diecast/tokens/byte_alphabet.hpp>
#include <diecast/tokens/merges.hpp>
#include <diecast/tokens/normalize.hpp>
#include <diecast/tokens/piece_ids.hpp>
#include <diecast/tokens/pre_tokenizer.hpp>
#include <diecast/tokens/strings.hpp>
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
        bytes_(tables.pieces.size(), vocabulary_.bytes() + total(tables.added)),
        ids_(bytes_, tables.pieces.size()),
        merges_(tables.merges.size()) {
    read_pieces(tables);
    read_merges(tables.merges);
    read_ends(tables);
  }

  // What prepared() computed from other tables; these have all the rest.
  ByteLevelBpe(const TokenizerTables& tables, const PreparedTables& prepared) : ByteLevelBpe(tables, prepared.owner, ArrayReader(prepared.bytes, "the prepared tokenizer")) {}

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

  // All that was computed from pieces, kinds and merges, to be used as it lies: what an engine would wait for when it starts.
  std::string prepared() const {
    ArrayWriter to;
    vocabulary_.save(to);
    bytes_.save(to);
    ids_.save(to);
    to.put(byte_ids_.all());
    merges_.save(to);
    return to.bytes();
  }

 private:
  ByteLevelBpe(const TokenizerTables& tables, std::shared_ptr<const void> owner, ArrayReader from)
      : owner_(std::move(owner)),
        vocabulary_(tables, from),
        form_(normal_form(tables.normalizer)),
        pre_tokenizer_(find_pre_tokenizer(tables.pre_tokenizer)),
        ignore_merges_(tables.ignore_merges),
        first_(tokens_where(tables.added, false)),
        second_(tokens_where(tables.added, true)),
        bytes_(from),
        ids_(bytes_, from),
        byte_ids_(from.get<std::int32_t>("the ids of bytes")),
        merges_(bytes_.size(), from) {
    from.end();
    if (bytes_.size() != static_cast<std::size_t>(size())) from.fail("it has the bytes of " + std::to_string(bytes_.size()) + " pieces and the spelling of " + std::to_string(size()));
    if (byte_ids_.size() != 256) from.fail("it has ids for " + std::to_string(byte_ids_.size()) + " bytes, not 256");
    for (const std::int32_t id : byte_ids_.all())
      if (id < -1 || id >= size()) from.fail("a byte has the id " + std::to_string(id) + " of " + std::to_string(size()));
    read_ends(tables);
  }

  void read_ends(const TokenizerTables& tables) {
    bos = tables.bos;
    eos = tables.eos;
    add_bos = tables.add_bos.value_or(false);
    add_eos = tables.add_eos.value_or(false);
  }

  std::vector<AddedToken> tokens_where(const std::vector<AddedToken>& added, bool normalized) const {
    std::vector<AddedToken> chosen;
    for (AddedToken token : added) {
      token.special = is_control(token.id);
      if (token.normalized == normalized) chosen.push_back(token);
    }
    return chosen;
  }

  static std::size_t total(const std::vector<AddedToken>& added) {
    std::size_t bytes = 0;
    for (const AddedToken& token : added) bytes += token.content.size();
    return bytes;
  }

  static std::optional<NormalForm> normal_form(const std::string& name) {
    if (name.empty()) return std::nullopt;
    if (name == "NFC") return NormalForm::nfc;
    if (name == "NFKC") return NormalForm::nfkc;
    throw Error("the normalizer " + in_quotes(name) + " is not known; known are NFC and NFKC");
  }

  // Text in which the first pass found no added token; the second looks for those that are matched after normalisation.
  void encode_part(const PromptText& prompt, Range part, WordMerger& merger, std::vector<std::int32_t>& word, std::vector<int>& ids) const {
    std::vector<Segment> segments;
    second_.split(prompt, part, segments);
    std::string key;
    for (const Segment& segment : segments) {
      if (segment.id >= 0) {
        ids.push_back(segment.id);
        continue;
      }
      const std::string_view text = std::string_view(prompt.text).substr(segment.range.begin, segment.range.end - segment.range.begin);
      pre_tokenizer_.split(text, [&](std::string_view piece) {
        if (ignore_merges_) {
          key.assign(piece).append(Strings::margin, '\0');
          const std::int32_t whole = ids_.find(ids_.key({key.data(), piece.size()}));
          if (whole >= 0) return ids.push_back(whole);
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
    std::vector<const AddedToken*> added;
    for (const AddedToken& token : tables.added) {
      if (!is_control(token.id)) added.push_back(&token);
    }
    std::stable_sort(added.begin(), added.end(), [](const AddedToken* a, const AddedToken* b) { return a->id < b->id; });
    std::vector<int> ordinary;
    ordinary.reserve(tables.pieces.size());
    auto next = added.begin();
    for (int id = 0; id < size(); ++id) {
      if (next != added.end() && (*next)->id == id) {
        while (next + 1 != added.end() && next[1]->id == id) ++next;  // the last that the file names
        const std::string& content = (*next++)->content;
        bytes_.push_back(content.copy(bytes_.room(), content.size()));
      } else if (is_control(id)) {
        bytes_.push_back(0);
      } else {
        append_bytes(piece(id));
        ordinary.push_back(id);
      }
    }
    add_ids(ordinary, [&](int id, int known) {
      throw Error("the piece " + in_quotes(tables.pieces[static_cast<std::size_t>(id)]) + " has two ids: " + std::to_string(known) + " and " + std::to_string(id));
    });
    std::vector<int> others;
    for (const AddedToken* token : added) others.push_back(token->id);
    add_ids(others, [](int, int) {});  // part of a merge only where no ordinary piece is spelled the same
    // Real vocabularies lack control characters and bytes that no UTF-8 has; one without plain letters is not byte-level.
    std::string missing;
    for (int byte = 0x20; byte < 0x7F; ++byte) {
      if (byte_ids_[static_cast<std::size_t>(byte)] < 0) missing += (missing.empty() ? "'" : ", '") + std::string(1, static_cast<char>(byte)) + "'";
    }
    if (!missing.empty()) throw Error("the vocabulary of a byte-level BPE has no pieces for the bytes " + missing);
  }

  // A piece with a character outside the alphabet stands for itself.
  void append_bytes(std::string_view piece) {
    const Spelling spelling = read_spelling(piece, 0, bytes_.room());
    bytes_.push_back(spelling.end == piece.size() ? spelling.bytes : piece.copy(bytes_.room(), piece.size()));
  }

  // Ids by their bytes, in this order; where the bytes are those of an id before, `on_known` is told both.
  template <class OnKnown>
  void add_ids(std::span<const int> all, OnKnown&& on_known) {
    std::array<PieceIds::Key, block> keys;
    for (; !all.empty(); all = all.subspan((std::min)(block, all.size()))) {
      const std::size_t count = (std::min)(block, all.size());
      for (std::size_t i = 0; i < count; ++i) keys[i] = ids_.key(bytes(all[i]));
      for (std::size_t i = 0; i < count; ++i) {
        if (keys[i].bytes.empty()) continue;
        const int known = ids_.insert(keys[i], all[i]);
        if (known != all[i]) on_known(all[i], known);
        else if (keys[i].bytes.size() == 1) byte_ids_.own()[static_cast<unsigned char>(keys[i].bytes[0])] = known;
      }
    }
  }

  // A block at a time: first the keys of all its pieces, then their ids, then the pairs, each of which is on its way from memory meanwhile.
  void read_merges(const std::vector<std::string>& merges) {
    std::array<MergeReader, block> read;
    std::array<Merge, block> found;
    std::unordered_set<std::string_view> control;
    std::int32_t last = -1;  // the result of the merge before
    for (std::size_t rank = 0; rank < merges.size(); rank += block) {
      const std::size_t count = (std::min)(block, merges.size() - rank);
      for (std::size_t i = 0; i < count; ++i) read[i].read(merges[rank + i], ids_);
      for (std::size_t i = 0; i < count; ++i) {
        found[i] = {};
        if (read[i].readable) {
          last = ids_.find(read[i].both, static_cast<std::size_t>(last + 1));
          found[i] = {ids_.find(read[i].left), ids_.find(read[i].right), last};
        }
        if (found[i].left < 0 || found[i].right < 0 || found[i].result < 0) check_left_out(rank + i, merges[rank + i], found[i], control);
        else merges_.prepare(found[i]);
      }
      for (std::size_t i = 0; i < count; ++i) {
        if (found[i].left >= 0 && found[i].right >= 0 && found[i].result >= 0) merges_.insert(found[i]);
      }
    }
  }

  // A merge as the bytes of its two pieces; keeps its memory.
  struct MergeReader {
    PieceIds::Key left, right;
    std::string_view both;
    bool readable = false;

    void read(std::string_view merge, const PieceIds& ids) {
      if (spelled.size() < merge.size() + Strings::margin) {
        spelled.resize(merge.size() * 2 + Strings::margin);
        bytes.resize(spelled.size());
      }
      merge.copy(spelled.data(), merge.size());
      merge = {spelled.data(), merge.size()};
      const Spelling first = read_spelling(merge, 0, bytes.data());
      readable = false;
      if (first.end == merge.size() || merge[first.end] != ' ') return;
      const Spelling second = read_spelling(merge, first.end + 1, bytes.data() + first.bytes);
      if (second.end != merge.size()) return;
      left = ids.key({bytes.data(), first.bytes});
      right = ids.key({bytes.data() + first.bytes, second.bytes});
      both = {bytes.data(), first.bytes + second.bytes};
      readable = true;
    }

   private:
    std::string spelled, bytes;  // with margins
  };

  // A merge is left out where one of its three pieces is a control token; any other that could not be read is refused.
  void check_left_out(std::size_t rank, std::string_view merge, const Merge& found, std::unordered_set<std::string_view>& control) const {
    const auto refuse = [&](const std::string& why) { throw Error("merge " + std::to_string(rank) + " (" + in_quotes(merge) + ") " + why); };
    const std::size_t gap = merge.find(' ');
    if (gap == std::string_view::npos || gap == 0 || gap + 1 == merge.size()) refuse("is not two pieces with a space between");
    const std::string left(merge.substr(0, gap));
    const std::string right(merge.substr(gap + 1));
    for (const std::string& half : {left, right}) {
      const std::string spelled = half + std::string(Strings::margin, '\0');
      std::string bytes = spelled;
      if (read_spelling({spelled.data(), half.size()}, 0, bytes.data()).end != half.size()) refuse("has a character outside the byte alphabet");
    }
    if (control.empty()) {  // the first merge of this kind: hardly any file has one
      for (int id = 0; id < size(); ++id) {
        if (is_control(id)) control.insert(piece(id));
      }
    }
    if (found.left < 0 && !control.contains(left)) refuse("joins " + in_quotes(left) + ", which is no piece");
    if (found.right < 0 && !control.contains(right)) refuse("joins " + in_quotes(right) + ", which is no piece");
    if (found.result < 0 && !control.contains(left + right)) refuse("makes " + in_quotes(left + right) + ", which is no piece");
  }

  static constexpr std::size_t block = 32;  // so many questions to the memory at a time

  std::shared_ptr<const void> owner_;  // of what the lists below may lie in
  Vocabulary vocabulary_;
  std::optional<NormalForm> form_;
  PreTokenizer pre_tokenizer_;
  bool ignore_merges_;
  AddedTokens first_, second_;
  Strings bytes_;  // by id
  PieceIds ids_;   // by bytes_, without control tokens
  Array<std::int32_t> byte_ids_{std::vector<std::int32_t>(256, -1)};  // -1: the vocabulary cannot spell it
  MergeTable merges_;
};

}  // namespace diecast
