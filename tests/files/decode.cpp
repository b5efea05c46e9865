// Decoding against the `gguf` package (tests/oracle/make_block_goldens.py), and the half floats against their definition.
#include <diecast/files/decode.hpp>

#include <catch2/catch.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

using namespace diecast;

namespace {

constexpr Format all_formats[] = {Format::f32,  Format::f16,  Format::bf16, Format::q4_0, Format::q4_1, Format::q5_0,
                                  Format::q5_1, Format::q8_0, Format::q4_k, Format::q5_k, Format::q6_k};

Format format_named(const std::string& name) {
  for (const Format format : all_formats) {
    if (layout(format).name == name) return format;
  }
  FAIL("no format " << name);
  return {};
}

std::vector<std::byte> from_hex(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::ifstream goldens() { return std::ifstream(std::string(DIECAST_SOURCE_DIR) + "/tests/data/files/block_goldens.txt"); }

}  // namespace

TEST_CASE("blocks of every quantised format decode to the bits of the gguf package") {
  auto file = goldens();
  REQUIRE(file);
  std::string line;
  int blocks = 0;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name, hex, word;
    words >> name >> hex;
    if (name == "F16") continue;
    const Format format = format_named(name);
    const auto bytes = from_hex(hex);
    REQUIRE(bytes.size() == static_cast<std::size_t>(layout(format).bytes));
    const Tensor tensor{.name = name, .format = format, .rows = 1, .cols = layout(format).block, .bytes = bytes};
    std::vector<float> decoded(static_cast<std::size_t>(layout(format).block), -1.0F);
    decode_row(tensor, 0, decoded);
    for (std::size_t i = 0; i < decoded.size(); ++i) {
      REQUIRE(words >> word);
      CAPTURE(name, blocks, i, decoded[i]);
      if (word == "nan") {
        REQUIRE(std::isnan(decoded[i]));
      } else {
        REQUIRE(std::bit_cast<std::uint32_t>(decoded[i]) == static_cast<std::uint32_t>(std::stoul(word, nullptr, 16)));
      }
    }
    REQUIRE_FALSE(words >> word);
    ++blocks;
  }
  REQUIRE(blocks == 5 * 7 + 3 * 5);
}

TEST_CASE("all 65,536 halves are right: by the definition of the format, and as numpy has them") {
  std::uint64_t state = 1469598103934665603U;
  int nans = 0;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = half_to_float(static_cast<std::uint16_t>(bits));
    const int exponent = static_cast<int>(bits >> 10 & 31);
    const int fraction = static_cast<int>(bits & 1023);
    const double sign = bits >> 15 ? -1.0 : 1.0;
    CAPTURE(bits, value);
    REQUIRE(std::signbit(value) == (bits >> 15 != 0));
    if (exponent == 31 && fraction != 0) {
      REQUIRE(std::isnan(value));
      ++nans;
      continue;
    }
    double expected = sign * std::ldexp(exponent == 0 ? fraction : 1024 + fraction, exponent == 0 ? -24 : exponent - 25);
    if (exponent == 31) expected = sign * std::numeric_limits<double>::infinity();
    REQUIRE(static_cast<double>(value) == expected);
    state = (state ^ std::bit_cast<std::uint32_t>(value)) * 1099511628211U;
  }
  auto file = goldens();
  std::string line, name, hash;
  int numpy_nans = -1;
  while (std::getline(file, line)) {
    if (line.starts_with("F16")) std::istringstream(line) >> name >> hash >> numpy_nans;
  }
  REQUIRE(nans == numpy_nans);
  REQUIRE(state == std::stoull(hash, nullptr, 16));
}

TEST_CASE("all 65,536 bfloats are right by the definition of the format") {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = bfloat_to_float(static_cast<std::uint16_t>(bits));
    const int exponent = static_cast<int>(bits >> 7 & 255);
    const int fraction = static_cast<int>(bits & 127);
    const double sign = bits >> 15 ? -1.0 : 1.0;
    CAPTURE(bits, value);
    REQUIRE(std::signbit(value) == (bits >> 15 != 0));
    if (exponent == 255 && fraction != 0) {
      REQUIRE(std::isnan(value));
      continue;
    }
    double expected = sign * std::ldexp(exponent == 0 ? fraction : 128 + fraction, exponent == 0 ? -133 : exponent - 134);
    if (exponent == 255) expected = sign * std::numeric_limits<double>::infinity();
    REQUIRE(static_cast<double>(value) == expected);
  }
}

TEST_CASE("rows are found by their number, one or several at a time, at any address") {
  // Two rows of two Q8_0 blocks: scale 1 (half 0x3c00), q = row * 64 + column - 64.
  std::vector<std::byte> bytes(1);  // one byte in front: nothing may rely on alignment
  for (int row = 0; row < 2; ++row) {
    for (int block = 0; block < 2; ++block) {
      bytes.push_back(std::byte{0x00});
      bytes.push_back(std::byte{0x3c});
      for (int i = 0; i < 32; ++i) bytes.push_back(static_cast<std::byte>(row * 64 + block * 32 + i - 64));
    }
  }
  const Tensor tensor{.name = "t", .format = Format::q8_0, .rows = 2, .cols = 64, .bytes = std::span(bytes).subspan(1)};
  std::vector<float> row(64), all(128);
  decode_row(tensor, 1, row);
  decode_tensor(tensor, all);
  for (int i = 0; i < 128; ++i) {
    REQUIRE(all[static_cast<std::size_t>(i)] == static_cast<float>(i - 64));
    if (i >= 64) REQUIRE(row[static_cast<std::size_t>(i - 64)] == static_cast<float>(i - 64));
  }
  REQUIRE_THROWS_WITH(decode_row(tensor, 2, row), "tensor 't': rows 2 to 3 of 2 rows were asked for");
  REQUIRE_THROWS_WITH(decode_row(tensor, -1, row), Catch::Contains("rows -1 to 0"));
  REQUIRE_THROWS_WITH(decode_row(tensor, 0, all), "tensor 't': room for 128 values, 1 rows of 64 were asked for");
  Tensor odd = tensor;
  odd.cols = 33;
  REQUIRE_THROWS_WITH(decode_row(odd, 0, std::span(row).first(33)), Catch::Contains("33") && Catch::Contains("32"));
  Tensor cut = tensor;
  cut.bytes = tensor.bytes.first(100);
  REQUIRE_THROWS_WITH(decode_row(cut, 0, row), Catch::Contains("it has 100 bytes, its shape takes 136"));
}

TEST_CASE("F32, F16 and BF16 rows") {
  const float numbers[] = {1.0F, -0.0F, std::numeric_limits<float>::quiet_NaN(), 3.5F};
  const std::uint16_t halves[] = {0x3c00, 0x8000, 0x7e00, 0x4300};
  const std::uint16_t bfloats[] = {0x3f80, 0x8000, 0x7fc0, 0x4060};
  const auto check = [&](Format format, std::span<const std::byte> bytes) {
    std::vector<float> row(4);
    decode_row({.name = "t", .format = format, .rows = 1, .cols = 4, .bytes = bytes}, 0, row);
    CHECK(row[0] == 1.0F);
    CHECK((row[1] == 0.0F && std::signbit(row[1])));
    CHECK(std::isnan(row[2]));
    CHECK(row[3] == 3.5F);
  };
  check(Format::f32, std::as_bytes(std::span(numbers)));
  check(Format::f16, std::as_bytes(std::span(halves)));
  check(Format::bf16, std::as_bytes(std::span(bfloats)));
}
