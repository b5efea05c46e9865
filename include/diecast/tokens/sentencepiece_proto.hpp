// SentencePiece's ModelProto in protobuf's wire format, from the pieces, scores and types of a GGUF file, so that the library can load
// it without its model file. Source: sentencepiece_model.proto (field numbers) and protobuf's encoding text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

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

// The model that a GGUF file of the kind "llama" means: byte-pair encoding by scores, no normalisation, spaces kept.
inline std::string model(const TokenizerTables& tables) {
  std::string out;
  std::string message;
  bool byte_fallback = false;
  for (std::size_t id = 0; id < tables.pieces.size(); ++id) {
    TokenKind kind = tables.kinds.empty() ? TokenKind::normal : tables.kinds[id];
    if (tables.unknown == static_cast<int>(id)) kind = TokenKind::unknown;  // Gemma's file calls it a control token
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
