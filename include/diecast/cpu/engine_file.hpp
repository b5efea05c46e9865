// The engine file: a model as the CPU path runs it, mapped and used as it lies. Facts (name, spec, template, generation defaults, digests), the
// tokenizer's tables and what it computed from them, a table of the parts, then the parts themselves as pack() lays them out. The layout is the same for every instruction set.
//
//   0   "diecast engine" and two zero bytes
//   16  version 3; 24 offset and size of the facts; 40 of the tokenizer's tables; 56 of the parts' table; 72 of the parts; 88 of the prepared tokenizer;
//       104 of the tables that it was prepared from (all u64, little-endian)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <diecast/cpu/parts.hpp>
#include <diecast/error.hpp>
#include <diecast/files/binary.hpp>
#include <diecast/files/mapping.hpp>
#include <diecast/files/model.hpp>
#include <diecast/tokens/strings.hpp>

namespace diecast::cpu {

// The digests that were computed when the file was written.
struct StoredDigests {
  std::string weights, tokenizer, chat_template, generation, whole;
};

struct EngineFile {
  Model model;  // without weights: unpack_weights() gives them
  StoredDigests digests;
  std::shared_ptr<const PackedModel> packed;
};

namespace detail {

struct EngineFacts {
  std::string name, architecture;
  Spec spec{};
  std::optional<std::string> chat_template;
  GenerationDefaults generation;
  StoredDigests digests;
  bool screen = false;  // whether the head has one
};

}  // namespace detail
}  // namespace diecast::cpu

BOOST_HANA_ADAPT_STRUCT(diecast::AddedToken, id, content, special, lstrip, rstrip, single_word, normalized);
BOOST_HANA_ADAPT_STRUCT(diecast::TokenizerTables, family, pre_tokenizer, normalizer, pieces, kinds, scores, merges, added, sentencepiece_model, ignore_merges,
                        bos, eos, unknown, pad, add_bos, add_eos, add_space_prefix, legacy);
BOOST_HANA_ADAPT_STRUCT(diecast::GenerationDefaults, do_sample, temperature, top_p, min_p, repetition_penalty, top_k, max_new_tokens, eos);
BOOST_HANA_ADAPT_STRUCT(diecast::cpu::StoredDigests, weights, tokenizer, chat_template, generation, whole);
BOOST_HANA_ADAPT_STRUCT(diecast::cpu::detail::EngineFacts, name, architecture, spec, chat_template, generation, digests, screen);

namespace diecast::cpu {

namespace detail {

inline constexpr std::string_view engine_magic{"diecast engine\0\0", 16};
inline constexpr std::uint64_t engine_version = 3;
inline constexpr std::size_t engine_header = 128, engine_alignment = 4096;

struct Section {
  std::uint64_t at, bytes;
};
struct EngineHeader {
  std::uint64_t version, reserved;
  Section facts, tokenizer, table, parts, prepared, texts;
};
static_assert(16 + sizeof(EngineHeader) <= engine_header);

// Calls matrix(part, rows, cols) and vector(part, length) for everything that a model with this spec has, in the order of each_part.
template <class Matrix, class Vector>
void each_member(Parts& parts, const Spec& spec, bool screen, const Matrix& matrix, const Vector& vector) {
  const Attention& a = spec.attention;
  const int q = a.heads * a.head_dim, kv = a.kv_heads * a.head_dim;
  const auto* mlp_gated = std::get_if<GatedMlp>(&spec.mlp);
  const int width = std::visit([](const auto& mlp) { return mlp.width; }, spec.mlp);
  const bool mlp_bias = std::visit([](const auto& mlp) { return mlp.bias; }, spec.mlp);
  const bool norm_bias = std::holds_alternative<LayerNorm>(spec.norm) && std::get<LayerNorm>(spec.norm).bias;
  const auto norm = [&](NormPart& part) {
    vector(part.weight, spec.hidden);
    if (norm_bias) vector(part.bias, spec.hidden);
  };
  const auto linear = [&](LinearPart& part, int rows, int cols, bool bias) {
    if (bias) vector(part.bias, rows);
    matrix(part.matrix, rows, cols);
  };
  for (LayerParts& layer : parts.layers) {
    if (spec.norm_placement != NormPlacement::after) norm(layer.attention_norm);
    if (a.qk_norm) vector(layer.q_norm, a.qk_norm == QkNorm::all_heads ? q : a.head_dim);
    if (a.qk_norm) vector(layer.k_norm, a.qk_norm == QkNorm::all_heads ? kv : a.head_dim);
    if (spec.norm_placement != NormPlacement::before) norm(layer.after_attention);
    if (spec.norm_placement != NormPlacement::after && spec.residual != Residual::parallel_shared_norm) norm(layer.mlp_norm);
    if (spec.norm_placement != NormPlacement::before) norm(layer.after_mlp);
    linear(layer.q, q, spec.hidden, a.qkv_bias);
    linear(layer.k, kv, spec.hidden, a.qkv_bias);
    linear(layer.v, kv, spec.hidden, a.qkv_bias);
    linear(layer.output, spec.hidden, q, a.output_bias);
    if (mlp_gated) linear(layer.gate, width, spec.hidden, mlp_bias);
    linear(layer.up, width, spec.hidden, mlp_bias);
    linear(layer.down, spec.hidden, width, mlp_bias);
  }
  norm(parts.final_norm);
  if (std::visit([](const auto& head) { return head.bias; }, spec.head)) vector(parts.head.bias, spec.vocab);
  matrix(parts.embedding, spec.vocab, spec.hidden);
  if (std::holds_alternative<UntiedHead>(spec.head)) matrix(parts.head.matrix, spec.vocab, spec.hidden);
  else parts.head.matrix = parts.embedding;
  if (const auto* absolute = std::get_if<Absolute>(&spec.position)) matrix(parts.position, absolute->positions, spec.hidden);
  if (!screen) return;
  matrix(parts.screen.high, spec.vocab, spec.hidden);
  matrix(parts.screen.norms, spec.vocab, spec.hidden / block_columns);
}

}  // namespace detail

// What a file begins with tells whether it is one.
inline bool is_engine_file(std::span<const std::byte> bytes) {
  return bytes.size() >= detail::engine_magic.size() && std::memcmp(bytes.data(), detail::engine_magic.data(), detail::engine_magic.size()) == 0;
}
inline bool is_engine_file(const std::string& path) {
  char begin[16] = {};
  std::ifstream file(path, std::ios::binary);
  return file.read(begin, sizeof begin) && is_engine_file(std::as_bytes(std::span(begin)));
}

inline void write_engine_file(const std::string& path, const Model& model, const StoredDigests& digests, const PackedModel& packed) {
  for (const Format format : packed.vector_formats)
    if (form_of(format).integers) throw Error(model.path + " keeps a norm or a bias in " + std::string(layout(format).name) + ", which an engine file cannot hold exactly");
  BinaryWriter facts, tokenizer, texts, table;
  facts.put(detail::EngineFacts{model.name, model.architecture, model.spec, model.chat_template, model.generation, digests, static_cast<bool>(packed.parts.screen)});
  std::span<const std::byte> prepared;
  if (model.tokenizer.prepared) {
    if (model.tokenizer.pieces.empty()) throw Error(model.path + " is written without the pieces of its prepared tokenizer", Blame::program);
    TokenizerTables rest = model.tokenizer;
    rest.pieces.clear();
    rest.kinds.clear();
    rest.merges.clear();
    tokenizer.put(rest);
    texts.put(model.tokenizer);
    prepared = model.tokenizer.prepared->bytes;
  } else {
    tokenizer.put(model.tokenizer);
  }
  std::size_t next = 0;
  Parts parts = packed.parts;
  const auto offset = [&](const void* at) { return static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - packed.bytes.data()); };
  detail::each_member(
      parts, model.spec, static_cast<bool>(packed.parts.screen),
      [&](PackedMatrix& part, int, int) {
        table.put(part.format);
        table.put(offset(part.data));
      },
      [&](const float*& part, int) {
        table.put(packed.vector_formats.at(next++));
        table.put(offset(part));
      });
  detail::EngineHeader header{.version = detail::engine_version, .reserved = 0, .facts = {}, .tokenizer = {}, .table = {}, .parts = {}, .prepared = {}, .texts = {}};
  std::uint64_t end = detail::engine_header;
  const auto place = [&](detail::Section& section, std::size_t bytes, std::size_t alignment) {
    section = {(end + alignment - 1) / alignment * alignment, bytes};
    end = section.at + bytes;
  };
  place(header.facts, facts.bytes().size(), 8);
  place(header.tokenizer, tokenizer.bytes().size(), 8);
  place(header.prepared, prepared.size(), 8);
  place(header.texts, texts.bytes().size(), 8);
  place(header.table, table.bytes().size(), 8);
  place(header.parts, packed.bytes.size(), detail::engine_alignment);

  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  const auto write = [&](std::uint64_t at, const void* bytes, std::size_t count) {
    file.seekp(static_cast<std::streamoff>(at));
    file.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(count));
  };
  write(0, detail::engine_magic.data(), detail::engine_magic.size());
  write(16, &header, sizeof header);
  write(header.facts.at, facts.bytes().data(), facts.bytes().size());
  write(header.tokenizer.at, tokenizer.bytes().data(), tokenizer.bytes().size());
  write(header.prepared.at, prepared.data(), prepared.size());
  write(header.texts.at, texts.bytes().data(), texts.bytes().size());
  write(header.table.at, table.bytes().data(), table.bytes().size());
  write(header.parts.at, packed.bytes.data(), packed.bytes.size());
  file.close();
  if (!file) throw Error("the engine file cannot be written to " + path);
}

// Where an engine file's bytes are. A mapping is moved to huge pages while it is used; memory stays as its owner has it.
enum class Place { memory, mapping };

// Opens what write_engine_file wrote: checks that every part lies within it and has the spec's shape. `accept` may refuse the file before that.
inline EngineFile open_engine_file(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const std::string& where, const AcceptModel& accept = {},
                                   Place place = Place::memory) {
  const auto fail = [&](const std::string& what) { throw Error(where + ": " + what); };
  if (bytes.size() < detail::engine_header || !is_engine_file(bytes)) fail("it does not begin as an engine file does");
  detail::EngineHeader header{};
  std::memcpy(&header, bytes.data() + 16, sizeof header);
  if (header.version != detail::engine_version)
    fail("it is an engine file of version " + std::to_string(header.version) + ", this program reads version " + std::to_string(detail::engine_version) + ": cast it again");
  const auto section = [&](const detail::Section& of, const char* name) {
    if (of.at > bytes.size() || of.bytes > bytes.size() - of.at)
      fail(std::string(name) + " are said to be " + std::to_string(of.bytes) + " bytes at " + std::to_string(of.at) + ", the file has " + std::to_string(bytes.size()));
    return bytes.subspan(of.at, of.bytes);
  };
  EngineFile file;
  auto facts = BinaryReader(section(header.facts, "its facts"), where).get<detail::EngineFacts>();
  file.model.name = std::move(facts.name);
  file.model.architecture = std::move(facts.architecture);
  file.model.path = where;
  file.model.spec = facts.spec;
  file.model.chat_template = std::move(facts.chat_template);
  file.model.generation = std::move(facts.generation);
  file.digests = std::move(facts.digests);
  check_file(file.model.spec);

  BinaryReader table(section(header.table, "its table of parts"), where);
  const auto parts = section(header.parts, "its parts");
  if (reinterpret_cast<std::uintptr_t>(parts.data()) % 64 != 0) fail("its parts begin at byte " + std::to_string(header.parts.at) + ", which is no multiple of 64");
  auto packed = std::make_shared<PackedModel>();
  packed->spec = file.model.spec;
  packed->parts.layers.resize(static_cast<std::size_t>(file.model.spec.layers));
  packed->bytes = parts;
  packed->owner = std::move(owner);
  std::vector<Format> formats;
  const auto at = [&](std::size_t size) {
    const auto offset = table.get<std::uint64_t>();
    if (offset % 64 != 0 || offset > parts.size() || size > parts.size() - offset)
      fail("a part of " + std::to_string(size) + " bytes is said to lie at " + std::to_string(offset) + " of " + std::to_string(parts.size()));
    return parts.data() + offset;
  };
  const auto format_of_part = [&] {
    const auto format = table.get<Format>();
    if (layout(format).bytes == 0) fail("a part has the format " + std::to_string(static_cast<int>(format)) + ", which does not exist");
    if (std::find(formats.begin(), formats.end(), format) == formats.end()) formats.push_back(format);
    return format;
  };
  detail::each_member(
      packed->parts, packed->spec, facts.screen,
      [&](PackedMatrix& part, int rows, int cols) {
        const bool of_screen = &part == &packed->parts.screen.high || &part == &packed->parts.screen.norms;
        const Format format = of_screen ? table.get<Format>() : format_of_part();
        if (of_screen && format != (&part == &packed->parts.screen.high ? high_format : norm_format))
          fail("a part of the head's screen has the format " + std::to_string(static_cast<int>(format)));
        if (cols % layout(format).block != 0)
          fail("rows of " + std::to_string(cols) + " values are no multiple of the " + std::to_string(layout(format).block) + " in a block of " + std::string(layout(format).name));
        part = {format, rows, cols, nullptr};
        part.data = at(part.bytes());
      },
      [&](const float*& part, int length) {
        const Format format = format_of_part();
        if (form_of(format).integers) fail("a vector has the format " + std::string(layout(format).name));
        packed->vector_formats.push_back(format);
        part = reinterpret_cast<const float*>(at((static_cast<std::size_t>(length) + 15) / 16 * 64));
      });
  if (packed->parts.screen && !has_screen(packed->spec, packed->parts.head.matrix.format)) fail("it has a screen for a head that cannot have one");
  if (accept) accept(file.model.spec, formats);
  file.model.tokenizer = BinaryReader(section(header.tokenizer, "its tokenizer's tables"), where).get<TokenizerTables>();
  if (static_cast<int>(file.model.tokenizer.family) > 1) fail("its tokenizer is of the kind " + std::to_string(static_cast<int>(file.model.tokenizer.family)));
  std::size_t ids = file.model.tokenizer.pieces.size();
  if (const auto prepared = section(header.prepared, "its prepared tokenizer"); !prepared.empty()) {
    ArrayReader reader(prepared, where);
    ids = Strings(reader).size();
    file.model.tokenizer.prepared = {prepared, section(header.texts, "the tables of its prepared tokenizer"), packed->owner};
  }
  if (ids > static_cast<std::size_t>(file.model.spec.vocab))
    fail("the tokenizer has " + std::to_string(ids) + " ids, the embedding only " + std::to_string(file.model.spec.vocab) + " rows");
  if (place == Place::mapping) packed->pages = std::make_shared<HugePages>(parts);
  file.packed = std::move(packed);
  return file;
}

inline EngineFile open_engine_file(const std::string& path, const AcceptModel& accept = {}) {
  const auto mapping = Mapping::open(path);
  return open_engine_file(mapping->bytes(), mapping, path, accept, Place::mapping);
}

}  // namespace diecast::cpu
