// Step 2 and back: what every tokenizer can do. Immutable, shared between threads.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <diecast/chat/prompt_text.hpp>

namespace diecast {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // The ids of a prompt: markers are recognised where nobody typed, everything else is plain text. Adds neither BOS nor EOS.
  virtual std::vector<int> encode(const PromptText& prompt) const = 0;
  // The ids of plain text: no marker is recognised.
  std::vector<int> encode(std::string_view text) const { return encode(plain_text(std::string(text))); }

  virtual int size() const = 0;  // ids are 0 to size() - 1
  // The bytes that a token writes into an answer: part of a character, perhaps. Control tokens write nothing.
  virtual std::string_view bytes(int id) const = 0;
  // The token as the vocabulary spells it, for people ("Ġthe", "▁the", "<|im_end|>").
  virtual std::string_view piece(int id) const = 0;
  virtual bool is_control(int id) const = 0;
  // Whether a leading space of the whole answer is an artefact of the tokenizer (SentencePiece's prefix) and is taken off.
  virtual bool strips_first_space() const = 0;

  std::optional<int> bos, eos;
  bool add_bos = false;  // what the file says; where it says nothing: SentencePiece yes, BPE no
  bool add_eos = false;
};

// Exactly one BOS, whichever of template and tokenizer writes it.
inline void put_bos(const Tokenizer& tokenizer, std::vector<int>& ids) {
  if (tokenizer.add_bos && tokenizer.bos && (ids.empty() || ids.front() != *tokenizer.bos)) ids.insert(ids.begin(), *tokenizer.bos);
}

}  // namespace diecast
