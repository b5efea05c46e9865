// What a model file says, whichever its container: the spec, the weights, the tokenizer's tables, the chat template
// and the generation defaults. Plain data; the readers (gguf_model.hpp, hf_folder.hpp) fill it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <diecast/files/weights.hpp>
#include <diecast/spec/spec.hpp>

namespace diecast {

enum class TokenKind : std::uint8_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };  // GGUF's numbers

// A piece that is found in the text before the tokenizer proper runs (tokenizer.json's added_tokens, GGUF's control and user-defined pieces).
struct AddedToken {
  int id{};
  std::string content;
  bool special{};     // a control marker: matched only in text that the template wrote
  bool lstrip{};      // swallows white space on its left
  bool rstrip{};
  bool single_word{};
  bool normalized{};
};

// What a byte-level BPE computed from pieces, kinds and merges (its prepared()), as it lies in memory that `owner` keeps.
struct PreparedTables {
  std::span<const std::byte> bytes;
  std::span<const std::byte> texts;  // of an engine file: the tables as they were, for cpu::unpack_tokenizer
  std::shared_ptr<const void> owner;
};

struct TokenizerTables {
  enum class Family { byte_level_bpe, sentencepiece } family{};
  std::string pre_tokenizer;              // by its GGUF name: "gpt-2", "smollm", ...; HF folders are recognised by what they spell out
  std::string normalizer;                 // "", "NFC", "NFKC"
  std::vector<std::string> pieces;        // by id, in the file's alphabet (byte-level BPE: GPT-2's printable stand-ins)
  std::vector<TokenKind> kinds;           // by id
  std::vector<float> scores;              // SentencePiece
  std::vector<std::string> merges;        // byte-level BPE, "left right" in order of rank
  std::vector<AddedToken> added;
  std::string sentencepiece_model;        // the bytes of tokenizer.model, where there is one
  bool ignore_merges{};                   // a whole pre-token that is a piece is taken as it is (Llama 3)
  std::optional<int> bos, eos, unknown, pad;
  std::optional<bool> add_bos, add_eos;   // absent: the file says nothing
  std::optional<bool> add_space_prefix;
  std::optional<bool> legacy;             // SentencePiece: the space prefix after every marker too (transformers' word); absent: yes
  std::optional<PreparedTables> prepared; // out of an engine file pieces, kinds and merges are empty then
};

struct GenerationDefaults {               // generation_config.json's names; absent: the file says nothing
  std::optional<bool> do_sample;
  std::optional<double> temperature, top_p, min_p, repetition_penalty;
  std::optional<int> top_k, max_new_tokens;
  std::vector<int> eos;                   // the union over all sources, ascending
};

struct Model {
  std::string name;          // general.name, or the folder's name
  std::string architecture;  // "llama", "gpt2", ...: as the file spells it
  std::string path;
  Spec spec{};
  TokenizerTables tokenizer;
  std::optional<std::string> chat_template;
  GenerationDefaults generation;
  Weights weights;
};

// Asked by a reader as soon as spec and formats are known, before anything of the weights' size is allocated: it throws to refuse the file.
using AcceptModel = std::function<void(const Spec&, std::span<const Format>)>;

}  // namespace diecast
