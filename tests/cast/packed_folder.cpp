// A folder as one run of bytes, as a program carries it: whole and sharded ones say the same as on disk, damaged ones are refused.
#include <catch2/catch.hpp>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <diecast/hf.hpp>

#include "../../tools/cast/packed_folder.hpp"
#include "files/hf_support.hpp"

using namespace diecast;
using namespace diecast::testing;
using Catch::Matchers::Contains;

namespace {

using Bytes = std::vector<std::byte>;

Bytes whole(const cast::Packing& packing) {
  Bytes bytes(packing.size);
  std::memcpy(bytes.data(), packing.head.data(), packing.head.size());
  for (const auto& [begin, file] : packing.files)
    if (!file.bytes.empty()) std::memcpy(bytes.data() + begin, file.bytes.data(), file.bytes.size());
  return bytes;
}

Folder unpacked(Bytes bytes) {
  const auto owner = std::make_shared<Bytes>(std::move(bytes));
  return cast::unpack(*owner, "the model inside this program", owner);
}

Folder packed_and_back(const std::string& path) {
  const Folder folder(path);
  return unpacked(whole(cast::pack(folder, files_of_folder(folder))));
}

std::string bytes_of(const Tensor& tensor) { return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()}; }

}  // namespace

TEST_CASE("a folder in memory is the folder on disk") {
  const std::string path = DIECAST_SOURCE_DIR "/models/tiny-shakespeare";
  const Model there = read_folder(path);
  const Model here = read_folder(packed_and_back(path));
  CHECK(here.name == "tiny-shakespeare");
  CHECK(here.path == "the model inside this program");
  CHECK(here.spec == there.spec);
  CHECK(here.architecture == there.architecture);
  CHECK(here.tokenizer.pieces == there.tokenizer.pieces);
  CHECK(here.tokenizer.merges == there.tokenizer.merges);
  CHECK(here.generation.eos == there.generation.eos);
  REQUIRE(here.weights.layers.size() == there.weights.layers.size());
  CHECK(bytes_of(here.weights.embedding) == bytes_of(there.weights.embedding));
  CHECK(bytes_of(here.weights.layers[5].v.weight) == bytes_of(there.weights.layers[5].v.weight));
}

TEST_CASE("only what an engine reads goes along: all shards, and no other file") {
  const TempFolder folder;
  folder.write("config.json", "{}");
  folder.write("README.md", "no");
  folder.write("chat_template.jinja", "");
  folder.write("a.safetensors", safetensors_text({stored("x", {2}, {1, 2})}));
  folder.write("b.safetensors", safetensors_text({stored("y", {1}, {3})}));
  folder.write("model.safetensors.index.json", R"({"weight_map":{"x":"a.safetensors","y":"b.safetensors"}})");
  const std::vector<std::string> names = files_of_folder(Folder(folder.path()));
  CHECK(names == std::vector<std::string>{"config.json", "chat_template.jinja", "model.safetensors.index.json", "a.safetensors", "b.safetensors"});
  const Folder back = packed_and_back(folder.path());
  CHECK_FALSE(back.has("README.md"));
  CHECK(back.open("chat_template.jinja").bytes.empty());
  const auto tensors = read_safetensors_folder(back);
  REQUIRE(tensors.size() == 2);
  CHECK(floats_of(tensors[0].bytes) == std::vector<float>{1, 2});
  CHECK(floats_of(tensors[1].bytes) == std::vector<float>{3});
  CHECK_THAT(sentence([&] { back.open("tokenizer.json"); }), Contains("the model inside this program has no tokenizer.json"));
  CHECK_THAT(sentence([&] { read_folder(back); }), Contains("the model inside this program: config.json"));

  folder.remove("b.safetensors");
  CHECK_THAT(sentence([&] { packed_and_back(folder.path()); }), Contains("b.safetensors cannot be opened"));
}

TEST_CASE("a damaged folder in memory is a sentence, wherever it is cut and whichever number is wrong") {
  const TempFolder folder;
  folder.write("config.json", "{}");
  folder.write("model.safetensors", safetensors_text({stored("x", {2}, {1, 2})}));
  const Folder good(folder.path());
  const cast::Packing packing = cast::pack(good, files_of_folder(good));
  const Bytes bytes = whole(packing);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_THAT(sentence([&] { unpacked(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size))); }),
               Contains("the model inside this program is damaged"));
  // Every byte of the head, with its highest bit turned: refused, or another name.
  for (std::size_t at = 0; at < packing.head.size(); ++at) {
    Bytes wrong = bytes;
    wrong[at] ^= std::byte{0x80};
    const std::string refused = sentence([&] { unpacked(wrong); });
    if (!refused.empty()) CHECK_THAT(refused, Contains("the model inside this program is damaged"));
  }
  // The same name twice.
  CHECK_THAT(sentence([&] { unpacked(whole(cast::pack(good, {"config.json", "config.json"}))); }), Contains("a file is in it twice"));
}
