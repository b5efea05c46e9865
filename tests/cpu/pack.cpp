// A packed matrix holds the file's own integers and scales: what comes out of it are the bits that files/decode.hpp gives, which are
// themselves compared with the gguf package.
#include <diecast/cpu/pack.hpp>

#include <catch2/catch.hpp>

#include "inputs.hpp"

using namespace diecast;
using testing::Packed;
using testing::Random;

namespace {

constexpr Format all_formats[] = {Format::f32,  Format::f16,  Format::bf16, Format::q4_0, Format::q4_1, Format::q5_0,
                                  Format::q5_1, Format::q8_0, Format::q4_k, Format::q5_k, Format::q6_k};

void check_rows(const Tensor& tensor) {
  const Packed packed(tensor);
  const std::vector<float> right = testing::decoded(tensor);
  const auto cols = static_cast<std::size_t>(tensor.cols);
  std::vector<float> row(cols);
  for (int r = 0; r < tensor.rows; ++r) {
    row.assign(cols, -7);
    cpu::unpack_row(packed.matrix, r, row.data());
    CAPTURE(layout(tensor.format).name, tensor.cols, r);
    REQUIRE(testing::same_bits(row, {right.data() + static_cast<std::size_t>(r) * cols, cols}));
  }
}

}  // namespace

TEST_CASE("packed rows unpack to the bits that decoding gives, in every format") {
  Random random(11);
  for (const Format format : all_formats) {
    const int unit = layout(format).block;
    for (const int cols : {unit, 2 * unit, 3 * unit, 7 * unit})
      for (const int rows : {1, 15, 16, 17, 45}) check_rows(testing::random_tensor(format, rows, cols, 0.7F, random));
  }
  for (const Format format : {Format::f32, Format::f16, Format::bf16}) check_rows(testing::random_tensor(format, 19, 46, 1, random));
}

TEST_CASE("every bit pattern of blocks and scales survives packing, infinities and NaN among them") {
  Random random(12);
  for (const Format format : all_formats) {
    Tensor tensor = testing::random_tensor(format, 33, 512, 1, random);
    std::vector<std::byte> bytes(tensor.bytes.size());
    for (std::byte& one : bytes) one = static_cast<std::byte>(random.bits());
    tensor.bytes = bytes;
    const Packed packed(tensor);
    const std::vector<float> right = testing::decoded(tensor);
    std::vector<float> row(512);
    for (int r = 0; r < 33; ++r) {
      cpu::unpack_row(packed.matrix, r, row.data());
      for (std::size_t i = 0; i < 512; ++i) {
        const float expected = right[static_cast<std::size_t>(r) * 512 + i];
        CAPTURE(layout(format).name, r, i, expected, row[i]);
        REQUIRE((expected != expected ? row[i] != row[i] : std::memcmp(&row[i], &expected, 4) == 0));
      }
    }
  }
}

TEST_CASE("panels take the bytes of their blocks and no more than a cache line") {
  for (const Format format : all_formats) {
    const FormatLayout of = layout(format);
    const cpu::Form form = cpu::form_of(format);
    for (const int blocks : {1, 2, 3, 5, 18}) {
      const int cols = blocks * of.block;
      // The six-bit factors of Q4_K and Q5_K become bytes: 16 instead of 12 a block.
      const int spread = form.two_levels && form.minimum ? 4 : 0;
      const auto exactly = static_cast<std::size_t>(16 * blocks * (of.bytes + spread));
      CAPTURE(of.name, cols);
      CHECK(form.panel_bytes(cols) >= exactly);
      CHECK(form.panel_bytes(cols) < exactly + 64);
      CHECK(form.panel_bytes(cols) % 64 == 0);
    }
  }
}

TEST_CASE("panels are packed the same in any division") {
  Random random(13);
  for (const Format format : {Format::q4_1, Format::q6_k, Format::bf16}) {
    const Tensor tensor = testing::random_tensor(format, 70, 256, 1, random);
    const Packed whole(tensor);
    std::vector<std::byte> pieces(whole.matrix.bytes());
    for (const auto& [first, last] : {std::pair(0, 1), std::pair(1, 4), std::pair(4, 5)})
      cpu::pack_panels(tensor, first, last, pieces.data() + static_cast<std::size_t>(first) * whole.matrix.panel_bytes());
    CHECK(std::memcmp(pieces.data(), whole.matrix.data, pieces.size()) == 0);
  }
}
