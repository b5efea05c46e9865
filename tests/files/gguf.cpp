// The GGUF container: what it reads, and every kind of broken file that it refuses with a sentence.
#include <diecast/files/gguf.hpp>

#include <catch2/catch.hpp>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "files/allocations.hpp"
#include "files/gguf_builder.hpp"

using namespace diecast;
using namespace diecast_test;

namespace {

// The sentence with which these bytes are refused; "" when they are not. `grown` is what was allocated meanwhile.
std::string refusal(const Bytes& file, std::size_t* grown = nullptr) {
  const std::size_t before = allocated_bytes;
  std::string sentence;
  try {
    const Gguf gguf(file, "f");
    for (const auto& tensor : gguf.tensors()) sentence += tensor.bytes.empty() ? "empty" : "";
  } catch (const Error& error) {
    sentence = error.what();
  }
  if (grown) *grown = allocated_bytes - before;
  return sentence;
}
std::string refusal(const GgufBuilder& builder) { return refusal(builder.bytes()); }

GgufBuilder with_tensor(const std::vector<std::uint64_t>& dims, std::uint32_t type = 0, std::size_t data = 64) {
  GgufBuilder builder;
  builder.tensors.push_back({"odd", dims, type, Bytes(data)});
  return builder;
}

Bytes header(std::uint64_t tensors, std::uint64_t keys) {
  Bytes file;
  for (const char c : {'G', 'G', 'U', 'F'}) file.push_back(static_cast<std::byte>(c));
  append(file, std::uint32_t{3});
  append(file, tensors);
  append(file, keys);
  return file;
}

using Catch::Contains;

}  // namespace

TEST_CASE("keys of every type are read back") {
  GgufBuilder builder;
  builder.raw("u8", 0, std::uint8_t{200}).raw("i8", 1, std::int8_t{-3}).raw("u16", 2, std::uint16_t{65535}).raw("i16", 3, std::int16_t{-300});
  builder.u32("u32", 4294967295U).raw("i32", 5, std::int32_t{-7}).f32("f32", 9.999999747378752e-06F).flag("bool", true);
  builder.text("text", std::string("a\0b", 3)).raw("u64", 10, std::uint64_t{1} << 63).raw("i64", 11, INT64_MIN).raw("f64", 12, 0.1);
  builder.strings("strings", {"x", "", "yz"}).ints("ints", {4, -5});
  const Gguf file = builder.open();
  CHECK(file.integer("u8", 0, 255) == 200);
  CHECK(file.integer("i8", -128, 127) == -3);
  CHECK(file.integer("u16", 0, 65535) == 65535);
  CHECK(file.integer("i16", -32768, 0) == -300);
  CHECK(file.integer("u32", 0, INT64_MAX) == 4294967295);
  CHECK(file.integer("i32", -10, 0) == -7);
  CHECK(file.integer("i64", INT64_MIN, 0) == INT64_MIN);
  CHECK(file.number("f32") == 1e-05);  // the shortest decimal of the float, as config.json has it
  CHECK(file.number("f64") == 0.1);
  CHECK(file.flag("bool") == true);
  CHECK(file.text("text") == std::string_view("a\0b", 3));
  std::vector<std::string> strings;
  file.array("strings", GgufType::string)->for_each_string([&](std::size_t i, std::string_view text) {
    CHECK(i == strings.size());
    strings.emplace_back(text);
  });
  CHECK(strings == std::vector<std::string>{"x", "", "yz"});
  CHECK(file.array("ints", GgufType::i32)->integer_element(1) == -5);
  CHECK_FALSE(file.text("absent"));
  CHECK_FALSE(file.integer("absent", 0, 1));
  CHECK_THROWS_WITH(file.integer("u64", 0, 10), "tiny.gguf: the key 'u64' is 9223372036854775808, outside 0 to 10");
  CHECK_THROWS_WITH(file.integer("u8", 0, 100), "tiny.gguf: the key 'u8' is 200, outside 0 to 100");
  CHECK_THROWS_WITH(file.text("u8"), "tiny.gguf: the key 'u8' should be a string and is uint8");
  CHECK_THROWS_WITH(file.integer("text", 0, 1), Contains("should be a whole number and is string"));
  CHECK_THROWS_WITH(file.integer("f32", 0, 1), Contains("should be a whole number and is float32"));
  CHECK_THROWS_WITH(file.array("ints", GgufType::string), "tiny.gguf: the key 'ints' should be an array of string and is array of int32");
}

TEST_CASE("tensors are views with their shape and format") {
  GgufBuilder builder;
  builder.tensor("a", {3}, {1, 2, 3}).tensor("b", Format::q8_0, {32, 2, 3}, Bytes(34 * 6)).tensor("c", {2, 1}, {5, 6});
  const Gguf file = builder.open();
  REQUIRE(file.tensors().size() == 3);
  CHECK(file.tensor("a")->dims == std::vector<std::int64_t>{3});
  CHECK(file.tensor("b")->bytes.size() == 34 * 6);
  CHECK(file.tensor("c")->offset == 32 + 224);
  const auto list = list_tensors(file);
  CHECK(list[1].name == "b");
  CHECK(list[1].format == Format::q8_0);
  CHECK(list[1].rows == 6);
  CHECK(list[1].cols == 32);
  CHECK(list[0].rows == 1);
  CHECK(gguf_load<float>(list[2].bytes.data() + 4) == 6.0F);
}

TEST_CASE("files that are not GGUF, of other versions and byte orders are refused") {
  GgufBuilder builder;
  builder.version = 2;
  CHECK(refusal(builder).empty());
  builder.version = 1;
  CHECK(refusal(builder) == "f: GGUF version 1; versions 2 and 3 are read");
  builder.version = 4;
  CHECK_THAT(refusal(builder), Contains("GGUF version 4"));
  builder.version = 3U << 24;
  CHECK_THAT(refusal(builder), Contains("big-endian"));
  CHECK_THAT(refusal(Bytes(100)), Contains("not a GGUF file"));
  CHECK_THAT(refusal(Bytes{}), Contains("not a GGUF file"));
}

TEST_CASE("F1: sizes that wrap 64 bits are refused, the tensor named") {
  const std::uint64_t big = std::uint64_t{1} << 32;
  for (const auto& dims : std::vector<std::vector<std::uint64_t>>{
           {big, big}, {(std::uint64_t{1} << 61) + 1, 8}, {~std::uint64_t{0} - 1, 2}, {8, (std::uint64_t{1} << 61) + 1}, {1, 1, big, big}, {~std::uint64_t{0}}}) {
    const auto file = with_tensor(dims).bytes();
    std::size_t grown = 0;
    CHECK_THAT(refusal(file, &grown), Contains("the tensor 'odd'") && Contains("more bytes than the file's " + std::to_string(file.size())));
    CHECK(grown < 65536);
  }
  // A sum beyond 2^64: two tensors, the second at an offset near the top.
  GgufBuilder builder = with_tensor({16});
  builder.tensors.push_back({"far", {16}, 0, Bytes(64), ~std::uint64_t{0} - 31});
  CHECK_THAT(refusal(builder), Contains("the tensor 'far'") && Contains("runs past the end"));
}

TEST_CASE("F2: more than four dimensions are refused") {
  CHECK_THAT(refusal(with_tensor(std::vector<std::uint64_t>(9, 1))), Contains("'odd' has 9 dimensions"));
  CHECK_THAT(refusal(with_tensor(std::vector<std::uint64_t>(5, 1))), Contains("'odd' has 5 dimensions"));
  CHECK_THAT(refusal(with_tensor({})), Contains("'odd' has 0 dimensions"));
  CHECK_THAT(refusal(with_tensor({4, 0})), Contains("'odd' has the shape [4, 0]: a dimension is zero"));
  auto file = header(1, 0);
  append_text(file, "odd");
  append(file, ~std::uint32_t{0});
  file.resize(200);
  CHECK_THAT(refusal(file), Contains("'odd' has 4294967295 dimensions"));
}

TEST_CASE("F4: a small file that claims gigabytes is refused and costs no memory") {
  std::vector<Bytes> files;
  for (const auto count : {std::uint64_t{1} << 63, ~std::uint64_t{0}, std::uint64_t{1} << 30}) {
    files.push_back(header(0, count));
    files.push_back(header(count, 0));
    files.push_back(header(0, 1));  // a key's name of that length
    append(files.back(), count);
    files.push_back(header(1, 0));  // a tensor's name of that length
    append(files.back(), count);
    files.push_back(header(0, 1));  // a string
    append_text(files.back(), "k");
    append(files.back(), std::uint32_t{8});
    append(files.back(), count);
    for (const std::uint32_t element : {0U, 4U, 7U, 8U, 9U, 12U}) {  // an array
      files.push_back(header(0, 1));
      append_text(files.back(), "k");
      append(files.back(), std::uint32_t{9});
      append(files.back(), element);
      append(files.back(), count);
    }
  }
  for (auto& file : files) {
    file.resize(200);
    std::size_t grown = 0;
    CHECK_FALSE(refusal(file, &grown).empty());
    CHECK(grown < (1U << 20));
  }
}

TEST_CASE("nested arrays are read to a bounded depth") {
  const auto nested = [](int depth) {
    auto file = header(0, 1);
    append_text(file, "deep");
    append(file, std::uint32_t{9});
    for (int i = 0; i < depth; ++i) {
      append(file, std::uint32_t{9});
      append(file, std::uint64_t{1});
    }
    append(file, std::uint32_t{5});
    append(file, std::uint64_t{1});
    append(file, std::int32_t{7});
    return file;
  };
  CHECK(refusal(nested(1)).empty());
  CHECK_THAT(refusal(nested(5)), Contains("'deep' are nested deeper than 4"));
  CHECK_THAT(refusal(nested(100000)), Contains("'deep' are nested deeper than 4"));
}

TEST_CASE("F5: every prefix of a valid file is refused, but for the padding at its end") {
  GgufBuilder builder;
  builder.text("general.architecture", "llama").strings("tokenizer.ggml.tokens", {"a", "bc"}).f32("x", 1.0F);
  builder.tensor("a", {3}, {1, 2, 3}).tensor("b", Format::q8_0, {32}, Bytes(34));
  const Bytes whole = builder.bytes();
  builder.pad_the_end = false;
  const std::size_t needed = builder.bytes().size();
  REQUIRE(needed + 30 == whole.size());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));  // of its own, so that ASan sees a read past its end
    CAPTURE(length);
    CHECK(refusal(cut).empty() == (length >= needed));
  }
}

TEST_CASE("any one byte changed: read or refused, never a crash") {
  GgufBuilder builder = tiny_llama();
  const Bytes whole = builder.bytes();
  std::size_t refused = 0;
  const std::size_t end = std::min<std::size_t>(whole.size(), 3000);
  for (std::size_t at = 0; at < end; ++at) {
    for (const unsigned flip : {0x01U, 0x80U, 0xffU}) {
      Bytes changed = whole;
      changed[at] ^= static_cast<std::byte>(flip);
      std::size_t grown = 0;
      if (!refusal(changed, &grown).empty()) ++refused;
      REQUIRE(grown < (1U << 20));
    }
  }
  CHECK(refused > 500);
}

TEST_CASE("duplicate keys and tensors, overlaps, holes and wrong offsets are refused by name") {
  GgufBuilder keys;
  keys.u32("twice", 1);
  keys.keys.push_back(keys.keys.front());
  CHECK(refusal(keys) == "f: the key 'twice' appears twice");

  GgufBuilder twins = with_tensor({16});
  twins.tensors.push_back({"odd", {16}, 0, Bytes(64)});
  CHECK(refusal(twins) == "f: the tensor 'odd' appears twice");

  const auto second_at = [](std::uint64_t offset) {
    GgufBuilder builder = with_tensor({16});
    builder.tensors.push_back({"next", {8}, 0, Bytes(128), offset});
    return refusal(builder);
  };
  CHECK(second_at(64).empty());
  CHECK(second_at(32) == "f: the tensors 'odd' and 'next' overlap");
  CHECK_THAT(second_at(0), Contains("overlap"));
  CHECK(second_at(96) == "f: the bytes from offset 64 to the tensor 'next' at 96 belong to no tensor");
  CHECK_THAT(second_at(65), Contains("'next' begins at offset 65, no multiple of the alignment 32"));
  CHECK_THAT(second_at(1U << 20), Contains("'next' of 32 bytes at offset 1048576 runs past the end of the file"));
}

TEST_CASE("an alignment of zero, odd or huge is refused; others are obeyed") {
  for (const std::uint32_t alignment : {0U, 1U, 4U, 24U, 33U, 131072U, 1U << 31, ~0U}) {
    GgufBuilder builder = with_tensor({16});
    builder.u32("general.alignment", alignment);
    CHECK_THAT(refusal(builder), Contains("'general.alignment' is " + std::to_string(alignment)));
  }
  for (const std::uint32_t alignment : {8U, 64U, 4096U}) {
    GgufBuilder builder = with_tensor({16});
    builder.tensors.push_back({"next", {3}, 0, Bytes(12)});
    builder.u32("general.alignment", alignment).alignment = alignment;
    CHECK(refusal(builder).empty());
  }
  GgufBuilder wide;
  wide.raw("general.alignment", 10, std::uint64_t{32});
  CHECK_THAT(refusal(wide), Contains("should be a uint32 and is uint64"));
}

TEST_CASE("formats that are not decoded and types that are not known are named") {
  CHECK_THAT(refusal(with_tensor({256}, 17)), Contains("'odd' has the format IQ2_XS, which is not supported"));
  CHECK_THAT(refusal(with_tensor({256}, 10)), Contains("Q2_K"));
  CHECK_THAT(refusal(with_tensor({256}, 39)), Contains("MXFP4"));
  CHECK_THAT(refusal(with_tensor({256}, 777)), Contains("the unknown format 777"));
  GgufBuilder builder;
  builder.raw("strange", 13, std::uint32_t{1});
  CHECK_THAT(refusal(builder), Contains("'strange' has the unknown value type 13"));
}

TEST_CASE("rows that are no multiple of the block are refused with both values") {
  CHECK_THAT(refusal(with_tensor({896, 2}, 12, 1008)), Contains("rows of 896 values, no multiple of the 256 values in a block of Q4_K"));
  CHECK_THAT(refusal(with_tensor({33, 2}, 8, 128)), Contains("rows of 33 values, no multiple of the 32 values in a block of Q8_0"));
}

TEST_CASE("names out of a file cannot spoil a sentence") {
  CHECK(in_marks("a\n\x1b[31m'\\\xff") == "'a\\x0a\\x1b[31m\\x27\\x5c\\xff'");
  CHECK(in_marks(std::string(1000, 'x')) == "'" + std::string(96, 'x') + "...'");
}

TEST_CASE("floats become the double of their shortest decimal") {
  CHECK(shortest_decimal(9.999999747378752e-06F) == 1e-05);
  CHECK(shortest_decimal(100000.0F) == 100000.0);
  CHECK(shortest_decimal(9.999999974752427e-07F) == 1e-06);
  CHECK(shortest_decimal(0.1F) == 0.1);
  CHECK(shortest_decimal(-0.0F) == 0.0);
}
