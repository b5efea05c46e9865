// The operations on the host: exact on values whose arithmetic is exact, and against a plain loop in double over odd shapes.
// The host executor guards every buffer and tries several schedules; a value that nobody wrote comes back as NaN.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <diecast/backend/block_table.hpp>
#include <diecast/kernels/embed.hpp>
#include <diecast/kernels/rms_norm.hpp>
#include <diecast/kernels/rope_append.hpp>

#include "on_host.hpp"

using namespace diecast::kernels;
using diecast_test::Constants;
using diecast_test::Floats;
using diecast_test::launch;
using diecast_test::Values;

namespace {

// Small numbers without a pattern that an indexing fault could keep.
float number(int i) { return static_cast<float>((i * 7919 + 13) % 1009 - 504) / 64.0f; }
std::vector<float> numbers(int count, int from = 0) {
  std::vector<float> out;
  for (int i = 0; i < count; ++i) out.push_back(number(from + i));
  return out;
}

template <int hidden>
void check_embed() {
  const int vocab = 9, positions = 5, rows = 4;
  const std::vector<int> ids{8, 0, 3, 8}, of_row{0, 4, 1, 2};
  const Constants<int> ids_there(ids), of_row_there(of_row);
  Floats table(numbers(vocab * hidden)), learned(numbers(positions * hidden, 500)), out(rows * hidden), plain(rows * hidden);
  using Absolute = Embed<Hidden{hidden}, PositionScheme::absolute, float>;
  launch<Absolute>(rows, {table.data(), ids_there.data(), {learned.data(), of_row_there.data()}, out.data()});
  using Rotary = Embed<Hidden{hidden}, PositionScheme::rotary, float>;
  launch<Rotary>(rows, {table.data(), ids_there.data(), {}, plain.data()});
  int wrong = 0;
  for (int row = 0; row < rows; ++row)
    for (int i = 0; i < hidden; ++i) {
      const float expected = table[ids[static_cast<std::size_t>(row)] * hidden + i];
      wrong += !(plain[row * hidden + i] == expected);
      wrong += !(out[row * hidden + i] == expected + learned[of_row[static_cast<std::size_t>(row)] * hidden + i]);
    }
  CHECK(wrong == 0);
}

template <int hidden>
void check_rms_norm() {
  const int rows = 3;
  const float epsilon = 1e-5f;
  Floats in(numbers(rows * hidden)), weight(numbers(hidden, 77)), out(rows * hidden);
  using Op = RmsNorm<Hidden{hidden}>;
  launch<Op>(rows, {in.data(), weight.data(), out.data(), epsilon});
  int wrong = 0;
  for (int row = 0; row < rows; ++row) {
    double squares = 0;
    for (int i = 0; i < hidden; ++i) squares += static_cast<double>(in[row * hidden + i]) * static_cast<double>(in[row * hidden + i]);
    const double scale = 1 / std::sqrt(squares / hidden + static_cast<double>(epsilon));
    for (int i = 0; i < hidden; ++i) {
      const double expected = static_cast<double>(in[row * hidden + i]) * scale * static_cast<double>(weight[i]);
      // The sum of positive terms errs by at most its depth in units of 2^-24, halved by the root; then five roundings.
      const double bound = std::abs(expected) * 0x1p-24 * (0.5 * (hidden / Op::threads + 1 + 5 + 8) + 6);
      wrong += !(std::abs(static_cast<double>(out[row * hidden + i]) - expected) <= bound);
    }
  }
  CHECK(wrong == 0);
  for (int again = 0; again < 3; ++again) {  // C4: the same bits every time
    Floats repeated(rows * hidden);
    launch<Op>(rows, {in.data(), weight.data(), repeated.data(), epsilon});
    int different = 0;
    for (int i = 0; i < repeated.size(); ++i) different += !(repeated[i] == out[i]);
    CHECK(different == 0);
  }
}

// Three sequences whose blocks are interleaved; every row lands in the slot that BlockTable names, everything else stays untouched.
template <HeadShape shape, RotaryDim rotary>
void check_rope_append() {
  constexpr int d = shape.head_dim, half = rotary.value / 2, kv_width = shape.kv_heads * d, q_width = shape.heads * d;
  constexpr int row_width = q_width + 2 * kv_width, positions = 40;
  diecast::BlockTable table(8 * diecast::BlockTable::block_tokens);
  std::vector<int> of_row, sequences;
  const int lengths[] = {33, 1, 17};
  for (int sequence = 0; sequence < 3; ++sequence) table.add();
  for (int step = 0; step < 33; ++step)
    for (int sequence = 0; sequence < 3; ++sequence)
      if (step < lengths[sequence]) {
        const int position = table.append(sequence);
        if (step % 16 < 2 || step % 16 == 15) {  // the borders of blocks are enough
          of_row.push_back(position);
          sequences.push_back(sequence);
        }
      }
  const int rows = static_cast<int>(of_row.size()), per_sequence = 3, slots = table.capacity();
  std::vector<int> blocks(3 * per_sequence, -1000000);  // an entry that must not be read
  for (int sequence = 0; sequence < 3; ++sequence)
    for (int at = 0; at < lengths[sequence]; at += 16)
      blocks[static_cast<std::size_t>(sequence * per_sequence + at / 16)] = static_cast<int>(table.slot(sequence, at)) / 16;

  std::vector<float> cosines, sines;
  for (int position = 0; position < positions; ++position)
    for (int pair = 0; pair < half; ++pair) {
      const double angle = position * std::pow(10000.0, -2.0 * pair / rotary.value);
      cosines.push_back(static_cast<float>(std::cos(angle)));
      sines.push_back(static_cast<float>(std::sin(angle)));
    }
  const std::vector<float> before = numbers(rows * row_width);
  const Constants<float> cosines_there(cosines), sines_there(sines);
  const Constants<int> of_row_there(of_row), sequences_there(sequences), blocks_there(blocks);
  Floats qkv(before), k_cache(slots * kv_width), v_cache(slots * kv_width);
  launch<RopeAppend<shape, rotary, float>>(rows, {qkv.data(), qkv.data() + q_width, qkv.data() + q_width + kv_width, row_width, row_width,
                                                  cosines_there.data(), sines_there.data(), of_row_there.data(), sequences_there.data(), {blocks_there.data(), per_sequence},
                                                  k_cache.data(), v_cache.data()});

  // One head of `from` at a position, by the definition in double.
  const auto expected = [&](int at, int i, int position) {
    const auto value = [&](int k) { return static_cast<double>(before[static_cast<std::size_t>(at + k)]); };
    if (i >= rotary.value) return value(i);
    const double angle = position * std::pow(10000.0, -2.0 * (i % half) / rotary.value);
    return i < half ? value(i) * std::cos(angle) - value(i + half) * std::sin(angle) : value(i) * std::cos(angle) + value(i - half) * std::sin(angle);
  };
  const double bound = 4 * 0x1p-24 * 2 * 8;  // four roundings, two terms, values up to 8
  int wrong = 0;
  std::vector<bool> written(static_cast<std::size_t>(slots));
  for (int row = 0; row < rows; ++row) {
    const int position = of_row[static_cast<std::size_t>(row)], base = row * row_width;
    const int slot = static_cast<int>(table.slot(sequences[static_cast<std::size_t>(row)], position));
    written[static_cast<std::size_t>(slot)] = true;
    for (int i = 0; i < q_width; ++i) wrong += !(std::abs(static_cast<double>(qkv[base + i]) - expected(base + i / d * d, i % d, position)) <= bound);
    for (int i = 0; i < kv_width; ++i) {
      wrong += !(std::abs(static_cast<double>(k_cache[slot * kv_width + i]) - expected(base + q_width + i / d * d, i % d, position)) <= bound);
      wrong += !(v_cache[slot * kv_width + i] == before[static_cast<std::size_t>(base + q_width + kv_width + i)]);
      wrong += !(qkv[base + q_width + i] == before[static_cast<std::size_t>(base + q_width + i)]);  // K and V themselves stay
    }
  }
  for (int slot = 0; slot < slots; ++slot)
    if (!written[static_cast<std::size_t>(slot)])
      for (int i = 0; i < kv_width; ++i) wrong += !std::isnan(k_cache[slot * kv_width + i]) || !std::isnan(v_cache[slot * kv_width + i]);
  CHECK(wrong == 0);
}

// The slots of positions 15 and 31.
struct Slots {
  static constexpr int threads = 32;
  struct Params {
    PagedTable table;
    std::int64_t* out;
  };
  struct Shared {};
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    if (ctx.thread() < 2) ctx.store(p.out, ctx.thread(), p.table.slot(ctx, 0, 15 + 16 * ctx.thread()));
  }
};

}  // namespace

TEST_CASE("embedding rows, with and without learned positions, exactly") {
  check_embed<1>();
  check_embed<33>();
  check_embed<576>();
  check_embed<3420>();
}

TEST_CASE("embedding rows stored in 16 bits") {
  const Constants<Half> table({{0x3c00}, {0xc000}, {0x0001}, {0x7bff}});  // 1, -2, 2^-24, 65504
  const Constants<int> ids({1, 0});
  Floats out(4);
  launch<Embed<Hidden{2}, PositionScheme::rotary, Half>>(2, {table.data(), ids.data(), {}, out.data()});
  CHECK(out[0] == 0x1p-24f);
  CHECK(out[1] == 65504.0f);
  CHECK(out[2] == 1.0f);
  CHECK(out[3] == -2.0f);
}

TEST_CASE("RMSNorm of values of equal size gives the weights exactly") {
  std::vector<float> in, weight;
  for (int i = 0; i < 100; ++i) {
    in.push_back(i % 3 == 0 ? -4.0f : 4.0f);
    weight.push_back(static_cast<float>(i));
  }
  const Floats out(100);
  launch<RmsNorm<Hidden{100}>>(1, {Constants<float>(in).data(), Constants<float>(weight).data(), out.data(), 0.0f});
  for (int i = 0; i < 100; ++i) CHECK(out[i] == (i % 3 == 0 ? -weight[static_cast<std::size_t>(i)] : weight[static_cast<std::size_t>(i)]));
}

TEST_CASE("C4: RMSNorm within its bound and bit-identical when repeated, over odd widths") {
  check_rms_norm<33>();
  check_rms_norm<576>();
  check_rms_norm<1024>();
  check_rms_norm<1025>();
  check_rms_norm<3420>();
  check_rms_norm<4097>();
}

TEST_CASE("RMSNorm may write over its input, and carries NaN to its whole row and no further") {
  std::vector<float> in = numbers(2 * 40);
  in[7] = std::numeric_limits<float>::quiet_NaN();
  const Floats rows(in);
  const Constants<float> weight(std::vector<float>(40, 1.0f));
  launch<RmsNorm<Hidden{40}>>(2, {rows.data(), weight.data(), rows.data(), 1e-5f});
  for (int i = 0; i < 40; ++i) {
    CHECK(std::isnan(rows[i]));
    CHECK(std::isfinite(rows[40 + i]));
  }
}

TEST_CASE("R1: half-split pairs, position 1, base 10000") {
  // x = [1, 2, 3, 4], turned by angles 1 and 0.01; worked out in plain Python.
  const std::vector<float> cosines{1.0f, 1.0f, static_cast<float>(std::cos(1.0)), static_cast<float>(std::cos(0.01))};
  const std::vector<float> sines{0.0f, 0.0f, static_cast<float>(std::sin(1.0)), static_cast<float>(std::sin(0.01))};
  const Floats q({1, 2, 3, 4}), k({1, 2, 3, 4}), v({5, 6, 7, 8});
  const Constants<float> cosines_there(cosines), sines_there(sines);
  const Constants<int> position({1}), sequence({0}), block({0});
  Floats k_cache(16 * 4), v_cache(16 * 4);
  launch<RopeAppend<HeadShape{1, 1, 4}, RotaryDim{4}, float>>(
      1, {q.data(), k.data(), v.data(), 4, 4, cosines_there.data(), sines_there.data(), position.data(), sequence.data(), {block.data(), 1}, k_cache.data(),
       v_cache.data()});
  const double right[] = {-1.9841106, 1.9599007, 2.4623779, 4.0197997};
  for (int i = 0; i < 4; ++i) {
    CHECK(std::abs(static_cast<double>(q[i]) - right[i]) <= 1e-6);
    CHECK(std::abs(static_cast<double>(k_cache[4 + i]) - right[i]) <= 1e-6);
    CHECK(v_cache[4 + i] == static_cast<float>(5 + i));
  }
}

TEST_CASE("RoPE and the append over shapes that differ on every axis, several sequences, interleaved blocks") {
  STATIC_REQUIRE(cache_block_tokens == diecast::BlockTable::block_tokens);
  check_rope_append<HeadShape{9, 3, 64}, RotaryDim{64}>();
  check_rope_append<HeadShape{7, 1, 80}, RotaryDim{32}>();
  check_rope_append<HeadShape{4, 4, 6}, RotaryDim{2}>();
}

TEST_CASE("a slot beyond 2^31 is addressed in 64 bits") {
  const Constants<int> blocks({3, 2'000'000'000});
  const Values<std::int64_t> slots(2);
  launch<Slots>(1, {{blocks.data(), 2}, slots.data()});
  CHECK(slots[0] == 63);
  CHECK(slots[1] == 32'000'000'015);
}
