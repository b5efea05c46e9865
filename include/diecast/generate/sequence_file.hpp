// A sequence in a file: its token ids and the K and V of its full blocks, byte for byte as the cache holds them. What lies in a block that is not
// full is computed again when it is loaded: that is less than a block, and no file holds what somebody else once left there. It is bound to the
// engine's identity and to the layout of the cache; any other is refused with both names.
//
//   "diecast sequence 1\n"  identity, layout (length and text)  bytes of a block (64 bits)  ids (count, 32 bits each)  blocks  checksum (64 bits)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <diecast/backend/backend.hpp>
#include <diecast/error.hpp>
#include <diecast/files/binary.hpp>
#include <diecast/files/mapping.hpp>
#include <diecast/spec/spec.hpp>
#include <diecast/text.hpp>

namespace diecast {

namespace detail {

inline constexpr std::string_view sequence_magic = "diecast sequence 1\n";

// Against damage, not against malice (Fowler, Noll, Vo: FNV-1a), eight bytes at a time.
class Checksum {
 public:
  void add(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      std::uint64_t word = 0;
      const std::size_t size = (std::min)(bytes.size(), sizeof word);
      std::memcpy(&word, bytes.data(), size);
      sum_ = (sum_ ^ word) * 0x100000001B3U;
      sum_ ^= sum_ >> 29;
      bytes = bytes.subspan(size);
    }
  }
  std::uint64_t sum() const { return sum_; }

 private:
  std::uint64_t sum_ = 0xCBF29CE484222325U;
};

// A file that appears under its name when it is whole.
class WholeFile {
 public:
  explicit WholeFile(std::string path) : path_(std::move(path)), part_(path_ + ".part"), out_(part_, std::ios::binary | std::ios::trunc) {
    if (!out_) throw Error(part_ + " cannot be written");
  }
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  ~WholeFile() {
    if (!done_) std::remove(part_.c_str());
  }
  void write(std::span<const std::byte> bytes) { out_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size())); }
  void done() {
    out_.close();
    std::error_code error;
    if (out_) std::filesystem::rename(part_, path_, error);
    if (!out_ || error) throw Error(path_ + " cannot be written" + (error ? ": " + error.message() : std::string()));
    done_ = true;
  }

 private:
  std::string path_, part_;
  std::ofstream out_;
  bool done_ = false;
};

}  // namespace detail

// ids: those of the sequence's positions, from the first on; further positions are not saved.
inline void save_sequence(const std::string& path, std::string_view identity, const Context& context, const BlockTable& table, int sequence, const std::vector<int>& ids) {
  if (context.block_bytes() == 0) throw Error("this backend cannot save a sequence");
  if (ids.size() > static_cast<std::size_t>(table.length(sequence)))
    throw Error(std::to_string(ids.size()) + " ids are to be saved of a sequence of " + std::to_string(table.length(sequence)), Blame::program);
  BinaryWriter header;
  header.put(std::string(identity));
  header.put(context.block_layout());
  header.put(static_cast<std::uint64_t>(context.block_bytes()));
  header.put(ids);

  detail::WholeFile file(path);
  detail::Checksum checksum;
  const auto put = [&](std::span<const std::byte> bytes) {
    checksum.add(bytes);
    file.write(bytes);
  };
  put(std::as_bytes(std::span(detail::sequence_magic)));
  put(std::as_bytes(std::span(header.bytes())));
  std::vector<std::byte> block(context.block_bytes());
  for (std::size_t i = 0; i < ids.size() / BlockTable::block_tokens; ++i) {
    context.read_block(table.blocks_of(sequence)[i], block);
    put(block);
  }
  const std::uint64_t sum = checksum.sum();
  file.write(std::as_bytes(std::span(&sum, 1)));
  file.done();
}

// Into an empty sequence; returns its ids. When it throws, the sequence may hold a part of them.
inline std::vector<int> load_sequence(const std::string& path, std::string_view identity, const Spec& spec, Context& context, int sequence, int most_tokens) {
  const auto mapping = Mapping::open(path);
  const std::span<const std::byte> all = mapping->bytes();
  const std::string_view magic = detail::sequence_magic;
  std::uint64_t sum = 0;
  if (all.size() < magic.size() + sizeof sum || std::memcmp(all.data(), magic.data(), magic.size()) != 0) throw Error(path + " holds no saved sequence");
  const auto body = all.first(all.size() - sizeof sum);
  BinaryReader reader(body.subspan(magic.size()), path);

  const auto of = reader.get<std::string>(), layout = reader.get<std::string>();
  if (of != identity) reader.fail("the sequence was saved by the engine " + in_quotes(of) + ", this one is " + in_quotes(identity));
  if (layout != context.block_layout()) reader.fail("the sequence was saved with the cache " + in_quotes(layout) + ", this one has " + in_quotes(context.block_layout()));
  const auto block_bytes = reader.get<std::uint64_t>();
  if (block_bytes != context.block_bytes() || block_bytes == 0)
    reader.fail("the sequence has " + std::to_string(block_bytes) + " bytes a block, this cache " + std::to_string(context.block_bytes()));
  const auto ids = reader.get<std::vector<int>>();
  if (ids.size() > static_cast<std::size_t>(most_tokens))
    reader.fail("the sequence has " + std::to_string(ids.size()) + " tokens, the context holds " + std::to_string(most_tokens));
  const auto outside = std::find_if(ids.begin(), ids.end(), [&](int id) { return id < 0 || id >= spec.vocab; });
  if (outside != ids.end()) reader.fail("token id " + std::to_string(*outside) + " is outside the vocabulary of " + std::to_string(spec.vocab));
  const std::size_t blocks = ids.size() / BlockTable::block_tokens;
  if (reader.left() != blocks * block_bytes)
    reader.fail(std::to_string(blocks) + " blocks of " + std::to_string(block_bytes) + " bytes are announced, " + std::to_string(reader.left()) + " bytes are left");
  detail::Checksum checksum;
  // The same pieces as they were written, for the last word of each may be short.
  const std::size_t blocks_at = body.size() - reader.left();
  checksum.add(body.first(magic.size()));
  checksum.add(body.first(blocks_at).subspan(magic.size()));
  for (std::size_t i = 0; i < blocks; ++i) checksum.add(body.subspan(blocks_at + i * block_bytes, block_bytes));
  std::memcpy(&sum, all.data() + body.size(), sizeof sum);
  if (checksum.sum() != sum) reader.fail("the bytes are not those that were written: the checksum differs");

  BlockTable& table = context.table();
  for (std::size_t i = 0; i < blocks; ++i) {
    for (int place = 0; place < BlockTable::block_tokens; ++place) table.append(sequence);
    context.write_block(table.blocks_of(sequence)[i], body.subspan(blocks_at + i * block_bytes, block_bytes));
  }
  std::vector<Row> rows;
  for (auto at = static_cast<int>(blocks) * BlockTable::block_tokens; at < static_cast<int>(ids.size()); ++at)
    rows.push_back({ids[static_cast<std::size_t>(at)], at, sequence, false});
  if (!rows.empty()) context.forward(rows);
  return ids;
}

}  // namespace diecast
