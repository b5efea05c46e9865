// What a kernel asks of memory, counted by the host executor: weights are read once, in whole sectors, and nobody waits for a bank of shared memory in
// the loops over weights. Numbers of a GPU's memory system that need no GPU.
#include <catch2/catch.hpp>

#include <diecast/kernels/flash_attention.hpp>
#include <diecast/kernels/linear_residual.hpp>

#include "inputs.hpp"

using diecast::Format;
using namespace diecast::kernels;
using namespace diecast_test;

namespace {

template <int width, FormSet set>
diecast::simt::Counters counted(Format format, int rows) {
  using Op = LinearResidual<Extents{16, width}, Ending::leave, set, Team{128, 4}>;
  Numbers numbers(1);
  const diecast::Tensor tensor = random_tensor(format, 16, width, numbers);
  diecast::simt::Memory own;
  const diecast::simt::Buffer<unsigned char> packed(own, "weights", diecast::cuda::pack(tensor), true);
  std::vector<int> all;
  for (int i = 0; i < rows; ++i) all.push_back(i);
  const diecast::simt::Buffer<int> counts(own, "counts", std::vector<int>{rows, 0}, true), of_rows(own, "rows", all, true);
  const diecast::simt::Buffer<float> in(own, "in", numbers.reals(rows * width), true);
  const diecast::simt::Buffer<float> out(own, "out", static_cast<std::size_t>(rows * 16));
  const TokenRows step{counts.data(), of_rows.data(), of_rows.data(), of_rows.data(), of_rows.data()};
  diecast::simt::Options options;
  options.count = true;
  return diecast::simt::launch<Op>(
      own, 2, {step, {packed.data(), nullptr, set.find(diecast::cuda::form_of(format))}, in.data(), out.data(), 1.0f}, options);
}

template <int width, FormSet set>
void check(Format format) {
  const auto row_bytes = static_cast<std::uint64_t>(diecast::cuda::form_of(format).row_bytes(width));
  for (const int rows : {1, 4}) {
    INFO(diecast::layout(format).name << ", width " << width << ", " << rows << " rows");
    const diecast::simt::Counters counters = counted<width, set>(format, rows);
    const diecast::simt::Traffic& weights = counters.buffers.at("weights").read;
    CHECK(weights.bytes <= 16 * row_bytes);  // once, however many tokens
    CHECK(weights.bytes >= 16 * (row_bytes - 16));
    CHECK(weights.efficiency() >= 0.98);
    CHECK(counters.shared_read.conflicts() == 0);
  }
}

// One tile of queries at the end of 128 positions.
template <HeadShape shape>
diecast::simt::Counters counted_attention() {
  using Op = FlashAttention<shape, Half, Half, Team{64, 1}>;
  constexpr int positions = 128;
  Numbers numbers(2);
  diecast::simt::Memory own;
  std::vector<Half> cached;
  for (int i = 0; i < positions * shape.kv_heads * Op::Layout::stride; ++i) cached.push_back({half_of(numbers.real())});
  std::vector<int> at, zeros(static_cast<std::size_t>(Op::token_rows));
  for (int i = 0; i < Op::token_rows; ++i) at.push_back(positions - Op::token_rows + i);
  const diecast::simt::Buffer<int> counts(own, "counts", std::vector<int>{Op::token_rows, 0}, true), of_rows(own, "positions", at, true),
      sequences(own, "sequences", zeros, true), table(own, "table", std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}, true);
  const diecast::simt::Buffer<Half> keys(own, "keys", cached), values(own, "values", cached);
  const diecast::simt::Buffer<float> q(own, "q", numbers.reals(Op::token_rows * shape.heads * shape.head_dim), true),
      out(own, "out", static_cast<std::size_t>(Op::token_rows * shape.heads * shape.head_dim));
  const TokenRows rows{counts.data(), sequences.data(), of_rows.data(), sequences.data(), sequences.data()};
  diecast::simt::Options options;
  options.count = true;
  return diecast::simt::launch<Op>(
      own, 2, {rows, q.data(), {table.data(), 8}, {keys.data(), values.data()}, 0.1f, 0.0f, 0, 2, nullptr, nullptr, out.data()}, options);
}
template <HeadShape shape>
void check_attention() {
  INFO(shape.heads << ":" << shape.kv_heads << " x " << shape.head_dim);
  const diecast::simt::Counters counters = counted_attention<shape>();
  for (const char* name : {"keys", "values"}) {
    const diecast::simt::Traffic& read = counters.buffers.at(name).read;
    CHECK(read.bytes == static_cast<std::uint64_t>(128 * shape.kv_heads * shape.head_dim * 2));  // once for all rows and heads of the tile
    CHECK(read.efficiency() == 1.0);
  }
  CHECK(counters.shared_read.conflicts() == 0);
  // A copy of pieces that are not eight to a row goes over a row's end, and there meets banks that its beginning has taken.
  if (shape.head_dim % 64 == 0) CHECK(counters.shared_written.conflicts() == 0);
  CHECK(counters.copies > 0);
}

}  // namespace

TEST_CASE("attention of prompts reads K and V once a tile, in whole sectors, without conflicts of banks") {
  check_attention<HeadShape{6, 2, 64}>();
  check_attention<HeadShape{7, 1, 80}>();
  check_attention<HeadShape{2, 2, 128}>();
  check_attention<HeadShape{2, 1, 256}>();
}

TEST_CASE("weights are read once, in whole sectors, without conflicts of banks") {
  check<2048, forms(f32_form)>(Format::f32);
  check<2048, forms(f16_form)>(Format::f16);
  check<2048, forms(bf16_form)>(Format::bf16);
  check<2048, forms(q8_0_form)>(Format::q8_0);
  check<2048, forms(q4_0_form)>(Format::q4_0);
  check<2048, forms(q4_1_form)>(Format::q4_1);
  check<2048, forms(q5_0_form)>(Format::q5_0);
}
