// What makes two engines the same: a SHA-256 over four digests, of the weights, the tokenizer, the chat template and the generation defaults.
// Digests are of what the model is, not of the file: the same weights in the same formats from another container give the same digest.
// SHA-256 is OpenSSL's.
#pragma once

#include <openssl/evp.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <diecast/error.hpp>
#include <diecast/files/compiled.hpp>
#include <diecast/files/model.hpp>

namespace diecast {

// Every value is preceded by its length or its presence, so that no two models give the same bytes.
class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) throw Error("SHA-256 is not available", Blame::program);
  }
  void bytes(std::span<const std::byte> bytes) {
    number(static_cast<std::int64_t>(bytes.size()));
    raw(bytes);
  }
  void text(std::string_view text) { bytes(std::as_bytes(std::span(text))); }
  void number(std::int64_t value) {
    std::array<std::byte, 8> little{};
    for (std::size_t i = 0; i < 8; ++i) little[i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i));
    raw(little);
  }
  void number(double value) { number(std::bit_cast<std::int64_t>(value)); }
  template <class T>
  void optional(const std::optional<T>& value) {
    number(std::int64_t{value.has_value()});
    if (!value) return;
    if constexpr (std::is_floating_point_v<T>) number(static_cast<double>(*value));
    else if constexpr (std::is_integral_v<T>) number(static_cast<std::int64_t>(*value));
    else text(*value);
  }
  std::string hex() {  // 64 digits; ends the digest
    std::array<unsigned char, 32> digest{};
    if (EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) != 1) throw Error("SHA-256 failed", Blame::program);
    std::string text;
    for (const unsigned char byte : digest) {
      text += "0123456789abcdef"[byte >> 4];
      text += "0123456789abcdef"[byte & 15];
    }
    return text;
  }

 private:
  void raw(std::span<const std::byte> bytes) {
    if (!bytes.empty() && EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) != 1) throw Error("SHA-256 failed", Blame::program);
  }
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

struct Identity {
  std::string weights, tokenizer, chat_template, generation;  // digests as 64 hexadecimal digits
  std::string whole;
};

namespace detail {

inline void add(Sha256& digest, const Tensor& tensor) {
  digest.text(layout(tensor.format).name);
  digest.number(tensor.rows);
  digest.number(tensor.cols);
  digest.bytes(tensor.bytes);
}
inline void add(Sha256& digest, const std::optional<Tensor>& tensor) {
  digest.number(std::int64_t{tensor.has_value()});
  if (tensor) add(digest, *tensor);
}
inline void add(Sha256& digest, const NormWeights& norm) {
  add(digest, norm.weight);
  add(digest, norm.bias);
}
// A norm that nearly every layer has: no mark where it is there.
inline void add_usual(Sha256& digest, const std::optional<NormWeights>& norm) {
  if (norm) add(digest, *norm);
  else digest.text("no norm");
}
inline void add(Sha256& digest, const LinearWeights& linear) {
  add(digest, linear.weight);
  add(digest, linear.bias);
}
template <class Part>
void add(Sha256& digest, const std::optional<Part>& part) {
  digest.number(std::int64_t{part.has_value()});
  if (part) add(digest, *part);
}

inline std::string digest_of(const Weights& weights) {
  Sha256 digest;
  add(digest, weights.embedding);
  add(digest, weights.position);
  for (const LayerWeights& layer : weights.layers) {
    add_usual(digest, layer.attention_norm);
    for (const LinearWeights* linear : {&layer.q, &layer.k, &layer.v, &layer.output}) add(digest, *linear);
    add(digest, layer.q_norm);
    add(digest, layer.k_norm);
    add(digest, layer.after_attention);
    add(digest, layer.after_mlp);
    add_usual(digest, layer.mlp_norm);
    add(digest, layer.gate);
    add(digest, layer.up);
    add(digest, layer.down);
  }
  add(digest, weights.final_norm);
  add(digest, weights.head);
  add(digest, weights.head_bias);
  return digest.hex();
}

inline std::string digest_of(const TokenizerTables& tables) {
  Sha256 digest;
  digest.number(static_cast<std::int64_t>(tables.family));
  digest.text(tables.pre_tokenizer);
  digest.text(tables.normalizer);
  digest.number(static_cast<std::int64_t>(tables.pieces.size()));
  for (const std::string& piece : tables.pieces) digest.text(piece);
  for (const TokenKind kind : tables.kinds) digest.number(static_cast<std::int64_t>(kind));
  digest.number(static_cast<std::int64_t>(tables.scores.size()));
  for (const float score : tables.scores) digest.number(static_cast<double>(score));
  digest.number(static_cast<std::int64_t>(tables.merges.size()));
  for (const std::string& merge : tables.merges) digest.text(merge);
  digest.number(static_cast<std::int64_t>(tables.added.size()));
  for (const AddedToken& added : tables.added) {
    digest.number(std::int64_t{added.id});
    digest.text(added.content);
    for (const bool flag : {added.special, added.lstrip, added.rstrip, added.single_word, added.normalized}) digest.number(std::int64_t{flag});
  }
  digest.text(tables.sentencepiece_model);
  digest.number(std::int64_t{tables.ignore_merges});
  for (const auto& id : {tables.bos, tables.eos, tables.unknown, tables.pad}) digest.optional(id);
  for (const auto& flag : {tables.add_bos, tables.add_eos, tables.add_space_prefix, tables.legacy}) digest.optional(flag);
  return digest.hex();
}

inline std::string digest_of(const GenerationDefaults& defaults) {
  Sha256 digest;
  digest.optional(defaults.do_sample);
  for (const auto& number : {defaults.temperature, defaults.top_p, defaults.min_p, defaults.repetition_penalty}) digest.optional(number);
  for (const auto& number : {defaults.top_k, defaults.max_new_tokens}) digest.optional(number);
  for (const int id : defaults.eos) digest.number(std::int64_t{id});
  return digest.hex();
}

inline std::string digest_of(const std::optional<std::string>& chat_template) {
  Sha256 digest;
  digest.optional(chat_template);
  return digest.hex();
}

}  // namespace detail

// Three of the four digests, which cost milliseconds; `weights` and `whole` stay empty.
inline Identity identity_without_weights(const Model& model) {
  return {"", detail::digest_of(model.tokenizer), detail::digest_of(model.chat_template), detail::digest_of(model.generation), ""};
}

// Reads every weight once.
inline Identity identity_of(const Model& model) {
  Identity identity = identity_without_weights(model);
  identity.weights = detail::digest_of(model.weights);
  Sha256 whole;
  for (const std::string* part : {&identity.weights, &identity.tokenizer, &identity.chat_template, &identity.generation}) whole.text(*part);
  identity.whole = whole.hex();
  return identity;
}

// Which of a config's digests are not the file's, by name; a digest that `file` leaves empty is not compared.
inline std::vector<std::string> different_digests(const CompiledIdentity& compiled, const Identity& file) {
  std::vector<std::string> different;
  const auto compare = [&different](const char* name, std::string_view ours, const std::string& theirs) {
    if (!theirs.empty() && ours != theirs) different.push_back(std::string(name) + " digest: compiled " + std::string(ours) + ", file " + theirs);
  };
  compare("weights", compiled.weights, file.weights);
  compare("tokenizer", compiled.tokenizer, file.tokenizer);
  compare("chat template", compiled.chat_template, file.chat_template);
  compare("generation defaults", compiled.generation, file.generation);
  if (different.empty()) compare("identity", compiled.whole, file.whole);
  return different;
}

// Everything that a config says beside its spec, against the file; every difference in one Error. With identity_of(file) the weights, too.
inline void check_identity(const Compiled& compiled, const Model& file, const Identity& identity) {
  std::vector<std::string> different;
  if (compiled.identity) different = different_digests(*compiled.identity, identity);
  for (std::string& one : different_facts(compiled, file)) different.push_back(std::move(one));
  detail::refuse_different(compiled, different);
}

}  // namespace diecast
