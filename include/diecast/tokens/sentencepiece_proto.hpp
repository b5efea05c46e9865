// SentencePiece's ModelProto in protobuf's wire format, from the pieces, scores and types of a GGUF file, so that the library can load
// it without its model file. Source: sentencepiece_model.proto (field numbers) and protobuf's encoding text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <diecast/files/model.hpp>

namespace diecast::sentencepiece_proto {

inline void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(static_cast<unsigned char>(value | 0x80)));
  out.push_back(static_cast<char>(static_cast<unsigned char>(value)));
}
inline void put_number(std::string& out, unsigned field, std::uint64_t value) {
  put_varint(out, field << 3);  // wire type 0: varint
  put_varint(out, value);
}
inline void put_text(std::string& out, unsigned field, std::string_view text) {
  put_varint(out, field << 3 | 2);  // wire type 2: length and bytes
  put_varint(out, text.size());
  out += text;
}
inline void put_float(std::string& out, unsigned field, float value) {
  put_varint(out, field << 3 | 5);  // wire type 5: four bytes, little endian
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(static_cast<unsigned char>(bits >> shift)));
}

// normalizer_spec = 3 { add_dummy_prefix = 3 }. Appended to a serialized model it overrides what stands there: in protobuf the last
// value of a field wins, and messages of one field are merged.
inline std::string space_prefix(bool add) {
  std::string normalizer;
  put_number(normalizer, 3, add ? 1 : 0);
  std::string out;
  put_text(out, 3, normalizer);
  return out;
}

inline std::string with_space_symbols(std::string_view piece) {
  std::string out;
  for (const char c : piece) c == ' ' ? out += "\u2581" : out += c;
  return out;
}

// Which ids the file calls control tokens, whatever their type.
inline std::vector<bool> special_ids(const TokenizerTables& tables) {
  std::vector<bool> special;
  for (const AddedToken& token : tables.added) {
    if (!token.special || token.id < 0) continue;
    const auto id = static_cast<std::size_t>(token.id);
    if (id >= special.size() && id < (std::size_t{1} << 24)) special.resize(id + 1);
    if (id < special.size()) special[id] = true;
  }
  return special;
}

inline std::optional<std::uint64_t> take_varint(std::string_view& in) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

// The bytes of one field, taken off the front: its number, and its value (a varint's, or what a length announces).
struct Field {
  std::uint64_t number{}, varint{};
  std::string_view content{}, whole{};  // content: after the length; whole: with tag and length
};
inline std::optional<Field> take_field(std::string_view& in) {
  const std::string_view before = in;
  const auto tag = take_varint(in);
  if (!tag) return std::nullopt;
  Field field{.number = *tag >> 3};
  const std::uint64_t type = *tag & 7;
  std::optional<std::uint64_t> size = type == 1 ? 8 : type == 5 ? 4 : 0;
  if (type == 0 || type == 2) {
    const auto value = take_varint(in);
    if (!value) return std::nullopt;
    if (type == 0) field.varint = *value;
    else size = *value;
  } else if (type != 1 && type != 5) {
    return std::nullopt;
  }
  if (*size > in.size()) return std::nullopt;
  field.content = in.substr(0, static_cast<std::size_t>(*size));
  in.remove_prefix(static_cast<std::size_t>(*size));
  field.whole = before.substr(0, before.size() - in.size());
  return field;
}

// A tokenizer.model in which the ids of `special` are control pieces: Gemma's calls its turn markers user-defined, and the library would
// find those in typed text. The unknown piece and bytes stay what they are. What cannot be read is left for the library to refuse.
inline std::string with_control_pieces(std::string_view model, const std::vector<bool>& special) {
  std::string out;
  std::size_t id = 0;
  while (!model.empty()) {
    const auto field = take_field(model);
    if (!field) return out += model;
    const bool is_special = field->number == 1 && id < special.size() && special[id];
    if (field->number == 1) ++id;
    std::uint64_t kind = 1;
    for (std::string_view piece = is_special ? field->content : std::string_view(); !piece.empty();) {
      const auto part = take_field(piece);
      if (!part) break;
      if (part->number == 3) kind = part->varint;
    }
    if (!is_special || kind == static_cast<std::uint64_t>(TokenKind::unknown) || kind == static_cast<std::uint64_t>(TokenKind::byte)) {
      out += field->whole;
      continue;
    }
    std::string piece(field->content);
    put_number(piece, 3, static_cast<std::uint64_t>(TokenKind::control));
    put_text(out, 1, piece);
  }
  return out;
}

// The model that a GGUF file of the kind "llama" means: byte-pair encoding by scores, no normalisation, spaces kept.
inline std::string model(const TokenizerTables& tables) {
  std::string out;
  std::string message;
  bool byte_fallback = false;
  const std::vector<bool> special = special_ids(tables);
  for (std::size_t id = 0; id < tables.pieces.size(); ++id) {
    TokenKind kind = tables.kinds.empty() ? TokenKind::normal : tables.kinds[id];
    if (tables.unknown == static_cast<int>(id)) kind = TokenKind::unknown;  // Gemma's file calls it a control token
    else if (id < special.size() && special[id] && kind != TokenKind::byte && kind != TokenKind::unknown) kind = TokenKind::control;
    byte_fallback = byte_fallback || kind == TokenKind::byte;
    message.clear();  // pieces = 1
    // Converters to GGUF write spaces into user-defined pieces where the model has its space symbol.
    put_text(message, 1, kind == TokenKind::user_defined ? with_space_symbols(tables.pieces[id]) : tables.pieces[id]);
    put_float(message, 2, tables.scores[id]);
    put_number(message, 3, static_cast<std::uint64_t>(kind));
    put_text(out, 1, message);
  }
  message.clear();  // trainer_spec = 2
  put_number(message, 3, 2);  // model_type: BPE
  put_number(message, 35, byte_fallback ? 1 : 0);
  put_text(out, 2, message);
  message.clear();  // normalizer_spec = 3
  put_text(message, 1, "identity");
  put_number(message, 4, 0);  // remove_extra_whitespaces
  put_number(message, 5, 1);  // escape_whitespaces
  put_text(out, 3, message);
  return out;
}

}  // namespace diecast::sentencepiece_proto
