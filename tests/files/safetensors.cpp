// Rows F1, F5 and F6 for safetensors: one file for each defect, each with its own sentence. The rules are those of the format text
// (github.com/huggingface/safetensors, "Format"), whose names for them stand beside.
#include <diecast/files/safetensors.hpp>

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "files/hf_support.hpp"

using namespace diecast;
using namespace diecast::testing;
using Catch::Matchers::Contains;

namespace {

std::vector<SafetensorsEntry> parse(const std::string& text) {
  return parse_safetensors(std::as_bytes(std::span<const char>(text)), nullptr, "x.safetensors");
}
std::string broken(const std::string& text) {
  return sentence([&] { parse(text); });
}
std::string broken(const std::string& header, std::size_t data) { return broken(safetensors_raw(header, std::string(data, '\1'))); }

const std::string valid = safetensors_raw(
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F16","shape":[3],"data_offsets":[16,22]},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}   )",
    std::string(22, '\2'));

}  // namespace

TEST_CASE("safetensors: tensors come in the order of their bytes") {
  const auto entries = parse(valid);
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].name == "a");
  CHECK(entries[0].dtype == "F32");
  CHECK(entries[0].shape == std::vector<std::uint64_t>{2, 2});
  CHECK(entries[0].bytes.size() == 16);
  CHECK(entries[1].name == "b");
  CHECK(entries[1].bytes.size() == 6);
  CHECK(entries[1].bytes.data() == entries[0].bytes.data() + 16);
}

TEST_CASE("safetensors: scalars, empty tensors and a file without tensors are valid") {
  const auto entries = parse(safetensors_raw(
      R"({"e":{"dtype":"F32","shape":[0,18446744073709551615,3],"data_offsets":[4,4]},"s":{"dtype":"I32","shape":[],"data_offsets":[0,4]}})",
      "1234"));
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].name == "s");
  CHECK(entries[1].bytes.empty());
  CHECK(parse(safetensors_raw("{}", "")).empty());
}

TEST_CASE("F5: every prefix of a small valid file is refused, and so is a byte too many") {
  for (std::size_t length = 0; length < valid.size(); ++length) {
    INFO("length " << length);
    // A copy of its own, so that a read past the end is found by the address sanitizer.
    const auto copy = std::make_unique<char[]>(length);
    std::copy_n(valid.data(), length, copy.get());
    CHECK_FALSE(sentence([&] { parse_safetensors(std::as_bytes(std::span<const char>(copy.get(), length)), nullptr, "x"); }).empty());
  }
  CHECK(broken(valid).empty());
  CHECK_THAT(broken(valid + "!"), Contains("1 bytes after the last tensor belong to none"));
}

TEST_CASE("F6: a header length that wraps, is over the cap, or over the file") {
  CHECK_THAT(broken(little_endian(~std::uint64_t{0}) + "{}"),
             Contains("claims 18446744073709551615 bytes") && Contains("limit of 100000000"));
  CHECK_THAT(broken(little_endian(100'000'001) + "{}"), Contains("claims 100000001 bytes") && Contains("limit of 100000000"));
  CHECK_THAT(broken(little_endian(100'000'000) + "{}"), Contains("claims 100000000 bytes, and the file has 2"));
  CHECK_THAT(broken(little_endian(0)), Contains("does not begin with {"));
  CHECK_THAT(broken("1234567"), Contains("has 7 bytes"));
}

TEST_CASE("F6: overlap, hole, begin after end, bytes beyond the file") {
  CHECK_THAT(broken(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[3,7]}})", 7),
             Contains("\"b\" begins at byte 3, inside tensor \"a\" that ends at byte 4"));
  CHECK_THAT(broken(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4),
             Contains("inside tensor"));
  CHECK_THAT(broken(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[5,9]}})", 9),
             Contains("\"b\" begins at byte 5 and leaves a hole") && Contains("up to 4"));
  CHECK_THAT(broken(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[1,5]}})", 5), Contains("hole"));
  CHECK_THAT(broken(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}})", 4), Contains("begins at byte 4 after its end at byte 0"));
  CHECK_THAT(broken(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 3),
             Contains("ends at byte 4, and the file has 3 bytes of data"));
  CHECK_THAT(broken(R"({"a":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,18446744073709551615]}})", 3),
             Contains("more than 2^64 bits"));
}

TEST_CASE("F6: duplicate keys, at the top and inside") {
  CHECK_THAT(broken(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})", 8),
             Contains("the key \"a\" twice"));
  CHECK_THAT(broken(R"({"a":{"dtype":"U8","shape":[4],"shape":[4],"data_offsets":[0,4]}})", 4), Contains("the key \"shape\" twice"));
}

TEST_CASE("F6: shape x dtype against the span") {
  CHECK_THAT(broken(R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,15]}})", 15),
             Contains("\"a\" needs 16 bytes by its shape and dtype, and its offsets span 15"));
  CHECK_THAT(broken(R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,4]}})", 4), Contains("needs 0 bytes"));
  CHECK_THAT(broken(R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})", 1), Contains("12 bits, which is no whole number of bytes"));
}

TEST_CASE("F1: products of extents that wrap 64 bits are refused by the tensor's name") {
  for (const char* shape : {"[4294967296,4294967296]", "[2305843009213693953,8]", "[18446744073709551614,2]", "[2305843009213693952]",
                            "[3,6148914691236517206]"}) {
    INFO(shape);
    CHECK_THAT(broken(R"({"wide":{"dtype":"U8","shape":)" + std::string(shape) + R"(,"data_offsets":[0,8]}})", 8),
               Contains("\"wide\" has a shape of more than 2^64 bits"));
  }
}

TEST_CASE("safetensors: wrong types and unknown names in the header") {
  const auto with = [](const std::string& line) { return broken("{\"a\":" + line + "}", 4); };
  CHECK_THAT(with(R"({"dtype":"F31","shape":[1],"data_offsets":[0,4]})"), Contains("unknown dtype \"F31\""));
  CHECK_THAT(with(R"({"dtype":7,"shape":[1],"data_offsets":[0,4]})"), Contains("unknown dtype 7"));
  CHECK_THAT(with(R"({"shape":[1],"data_offsets":[0,4]})"), Contains("dtype is missing"));
  CHECK_THAT(with(R"({"dtype":"F32","data_offsets":[0,4]})"), Contains("shape is missing"));
  CHECK_THAT(with(R"({"dtype":"F32","shape":[1]})"), Contains("data_offsets is missing"));
  CHECK_THAT(with(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})"), Contains("extent of its shape is -1"));
  CHECK_THAT(with(R"({"dtype":"F32","shape":[1.0],"data_offsets":[0,4]})"), Contains("extent of its shape is 1.0"));
  CHECK_THAT(with(R"({"dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,4]})"), Contains("extent of its shape"));
  CHECK_THAT(with(R"({"dtype":"F32","shape":1,"data_offsets":[0,4]})"), Contains("shape is 1, and must be a list"));
  CHECK_THAT(with(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4,8]})"), Contains("a list of two numbers"));
  CHECK_THAT(with(R"({"dtype":"F32","shape":[1],"data_offsets":[-4,0]})"), Contains("its begin is -4"));
  CHECK_THAT(with(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1})"), Contains("unknown key \"more\""));
  CHECK_THAT(with("[]"), Contains("must be an object and is a list"));
  CHECK_THAT(broken(R"({"__metadata__":{"a":1}})", 0), Contains("__metadata__: a is 1, and must be a text"));
  // A name that the file chose cannot break the line of the sentence (found by reading, kept as a fuzzer's promise).
  CHECK_THAT(broken(R"({"__metadata__":{"a\nb":1}})", 0), Contains(R"(__metadata__: "a\x0ab" is 1, and must be a text)"));
  CHECK_THAT(broken("{", 0), Contains("breaks at line 1, column 2"));
  CHECK_THAT(broken("{\"a\xff\":1}", 0), Contains("is not JSON"));
  CHECK_THAT(broken("{\"a\":" + std::string(100'000, '[') + "}", 0), Contains("deeper than 8 levels"));
}

TEST_CASE("safetensors: a folder of shards, and an index that does not fit them") {
  const TempFolder folder;
  CHECK_THAT(sentence([&] { read_safetensors_folder(folder.path()); }),
             Contains("neither model.safetensors nor model.safetensors.index.json"));
  folder.write("pytorch_model.bin", "x");
  CHECK_THAT(sentence([&] { read_safetensors_folder(folder.path()); }), Contains("only as pytorch_model.bin"));
  folder.write("one.safetensors", safetensors_text({stored("a", {2}, {1, 2}), stored("b", {1}, {3})}));
  folder.write("two.safetensors", safetensors_text({stored("c", {1}, {4})}));
  const auto with_index = [&](const std::string& map) {
    folder.write("model.safetensors.index.json", R"({"metadata":{"total_size":16},"weight_map":)" + map + "}");
    return sentence([&] { read_safetensors_folder(folder.path()); });
  };
  CHECK(with_index(R"({"a":"one.safetensors","b":"one.safetensors","c":"two.safetensors"})").empty());
  const auto entries = read_safetensors_folder(folder.path());
  REQUIRE(entries.size() == 3);
  CHECK(floats_of(entries[2].bytes) == std::vector<float>{4});
  CHECK_THAT(with_index(R"({"a":"one.safetensors","c":"two.safetensors"})"), Contains("\"b\" is not listed"));
  CHECK_THAT(with_index(R"({"a":"one.safetensors","b":"one.safetensors","d":"two.safetensors","c":"two.safetensors"})"),
             Contains("lacks tensor \"d\""));
  CHECK_THAT(with_index(R"({"a":"three.safetensors"})"), Contains("cannot be opened"));
  CHECK_THAT(with_index(R"({"a":"../one.safetensors"})"), Contains("which is no file name"));
  CHECK_THAT(with_index(R"({"a":""})"), Contains("which is no file name"));
  CHECK_THAT(with_index(R"({"a":3})"), Contains("lies in 3, which is no file name"));
  CHECK_THAT(with_index("[]"), Contains("must be an object"));
}

TEST_CASE("safetensors: a file that is truncated on disk is refused") {
  const TempFolder folder;
  folder.write("model.safetensors", valid.substr(0, valid.size() - 1));
  CHECK_THAT(sentence([&] { read_safetensors_folder(folder.path()); }), Contains("ends at byte 22, and the file has 21 bytes of data"));
  folder.write("model.safetensors", "");
  CHECK_THAT(sentence([&] { read_safetensors_folder(folder.path()); }), Contains("has 0 bytes"));
}
